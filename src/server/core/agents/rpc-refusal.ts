/**
 * Writes the gateway's own refusals as JSON-RPC errors of both agent protocols. Source: design decisions, section 2; mcp
 * reference, 10; a2a reference, 6.
 */
import type { GatewayError } from "../../../base/index.ts";
import type { RpcFault } from "./types.ts";

export type AgentProtocol = "mcp" | "a2a";

/** Base of the gateway's own error codes, outside the ranges that JSON-RPC and both protocols reserve. */
const OWN_CODES = 31_000;
export const ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo";
export const OWN_DOMAIN = "gateway";

/** Returns the JSON text of the answer's body. `id` is JSON text. */
export function rpcRefusal(protocol: AgentProtocol, error: GatewayError, id: string, requestId: string): string {
  const { code, message, status } = error;
  const data =
    protocol === "mcp"
      ? { code, request_id: requestId }
      : [
          {
            "@type": ERROR_INFO,
            reason: code.toUpperCase(),
            domain: OWN_DOMAIN,
            metadata: { code, request_id: requestId },
          },
        ];
  return rpcError({ code: -(OWN_CODES + status), message, data, id });
}

/** Returns the JSON text of a fault's body. */
export function rpcError({ code, message, data, id }: Omit<RpcFault, "status">): string {
  const error = JSON.stringify({ code, message, ...(data !== undefined && { data }) });
  return `{"jsonrpc":"2.0","id":${id},"error":${error}}`;
}
