/** Maps errors of a handshake, such as invalid answers and redirects, to refusals. */
import { GatewayError } from "../../../../base/index.ts";
import { ForwardProxyFault } from "../../../forward-proxy/index.ts";

export const isRedirect = (status: number, location: string | undefined): boolean =>
  status >= 300 && status < 400 && location !== undefined;

export const redirectError = (status: number): GatewayError =>
  new GatewayError(
    "upstream_redirect",
    `The upstream answered the WebSocket handshake with a redirect (${status}), which is not followed or passed on: configure the address that it leads to.`,
  );

/**
 * Returns the refusal for an error during the handshake. Errors of `ws` or of the node:http parser mean an invalid answer; any
 * other error is a failed connection.
 */
export function handshakeFailure(cause: Error): GatewayError {
  const code = "code" in cause ? String(cause.code) : "";
  const isAnswered = code.startsWith("HPE_") || /^(?:Invalid |Server sent |Unexpected |Server )/.test(cause.message);
  if (!isAnswered) {
    const by = cause instanceof ForwardProxyFault ? `: ${cause.message}` : "";
    return new GatewayError("upstream_unreachable", `The upstream could not be reached${by}.`, { cause });
  }
  const explanation = code.startsWith("HPE_") ? "it is not HTTP/1.1" : "it breaks the WebSocket protocol (RFC 6455)";
  return new GatewayError(
    "upstream_invalid",
    `The upstream's answer to the handshake could not be read: ${explanation}.`,
    {
      cause,
    },
  );
}
