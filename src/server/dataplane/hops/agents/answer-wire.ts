/** Converts answers of MCP servers and agents: headers for the client, and the body as text. */
import { GatewayError } from "../../../../base/index.ts";
import { type ContainsCredential, headerValue } from "../../../upstream/index.ts";
import { lowerCase } from "../../headers.ts";

/** Headers of the server's answer that are dropped, because a client would attribute them to the gateway. */
const DROPPED: ReadonlySet<string> = new Set([
  "mcp-session-id",
  "set-cookie",
  "www-authenticate",
  "alt-svc",
  "strict-transport-security",
]);

/** Returns the headers that the client receives. */
export function forwardableHeaders(headers: readonly string[]): readonly string[] {
  const pairs: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (!DROPPED.has(lowerCase(name))) pairs.push(name, headers[i + 1] as string);
  }
  return pairs;
}

/** Returns the headers for a body of `length` bytes that is sent whole and without content encoding. */
export function withContentLength(headers: readonly string[], length: number): readonly string[] {
  const isEncoded = headerValue(headers, "content-encoding") !== undefined;
  if (!isEncoded && headerValue(headers, "content-length") === String(length)) return headers;
  const pairs: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = lowerCase(headers[i] as string);
    if (name === "content-length" || name === "content-encoding" || name === "transfer-encoding") continue;
    pairs.push(headers[i] as string, headers[i + 1] as string);
  }
  return [...pairs, "content-length", String(length)];
}

/** Decodes a body as clients do: without a byte order mark, and with replacement characters for invalid UTF-8. */
export function textOf(body: Buffer): string {
  const text = body.toString("utf8");
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** Returns whether a message contains the credential that its sender received. Some JSON writers escape slashes. */
export function repeatsCredential(containsCredential: ContainsCredential | undefined, message: string): boolean {
  if (containsCredential === undefined) return false;
  return (
    containsCredential("", message) ||
    (message.includes("\\/") && containsCredential("", message.replaceAll("\\/", "/")))
  );
}

export const OVERSIZE_ERROR = new GatewayError(
  "guardrail_denied",
  "The answer is longer than guardrails can inspect.",
  {
    by: { kind: "guardrail", name: "response.on_oversize" },
  },
);

/**
 * Returns the error for an answer that cannot be decoded. It replaces the error of `decode`, whose message describes requests.
 */
export const undecodableError = (cause: GatewayError): GatewayError =>
  new GatewayError("upstream_invalid", "The answer cannot be decompressed within the limits.", { cause });

/** Returns the error for a 401 of a server or agent. It is not about the client's credential, which is not forwarded. */
export function unauthorizedError(noun: string, hasCredential: boolean): GatewayError {
  const reason = hasCredential
    ? "does not accept the gateway's credential"
    : "requires a credential, and none is configured for it";
  return new GatewayError("upstream_invalid", `${noun} ${reason}.`);
}
