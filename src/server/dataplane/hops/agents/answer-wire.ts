/** What an answer of a server or agent is on the wire: the headers that a client is shown, and its body as text. */
import { GatewayError } from "../../../../base/index.ts";
import { type Bearing, headerValue } from "../../../upstream/index.ts";
import { lowerCase } from "../../headers.ts";

/** Of the server's answer; all of it would set the client against the wrong party. */
const DROPPED: ReadonlySet<string> = new Set([
  "mcp-session-id",
  "set-cookie",
  "www-authenticate",
  "alt-svc",
  "strict-transport-security",
]);

/** Those that a client is shown. */
export function kept(headers: readonly string[]): readonly string[] {
  const pairs: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (!DROPPED.has(lowerCase(name))) pairs.push(name, headers[i + 1] as string);
  }
  return pairs;
}

/** Of a body that is whole and without encoding. */
export function ofLength(headers: readonly string[], length: number): readonly string[] {
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

/** As clients read it: without a byte order mark, and with a replacement for what is no UTF-8. */
export function textOf(body: Buffer): string {
  const text = body.toString("utf8");
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** Whether a message shows the credential that its sender was sent; some write a slash in JSON as an escape. */
export function repeats(bears: Bearing | undefined, message: string): boolean {
  if (bears === undefined) return false;
  return bears("", message) || (message.includes("\\/") && bears("", message.replaceAll("\\/", "/")));
}

export const OVERSIZE = new GatewayError("guardrail_denied", "The answer is longer than guardrails inspect.", {
  by: { kind: "guardrail", name: "response.on_oversize" },
});

/** `decode` speaks of requests. */
export const undecodable = (cause: GatewayError): GatewayError =>
  new GatewayError("upstream_invalid", "The answer does not decode within its bounds.", { cause });
