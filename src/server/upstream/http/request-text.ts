/** Formats the head of a request in wire format. */
import type { UpstreamRequest } from "../ports.ts";

/** Methods that have a body, or announce that there is none (RFC 9110, section 8.6). */
const WITH_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);
const WITHOUT_BODY: ReadonlySet<string> = new Set(["GET", "DELETE", "OPTIONS"]);
const PATH = /^[\x21-\x7e\x80-\xff]+$/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NO_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/** Headers that determine the end of the request, its target, or its connection. Callers may not set them. */
const FRAMING: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "expect",
  "keep-alive",
  "trailer",
]);

/** Maximum number of cached valid header names. There are few spellings. */
const MAX_SPELLINGS = 1_000;
const plainNames = new Set<string>();

function isPlainName(name: string): boolean {
  if (plainNames.has(name)) return true;
  if (!TOKEN.test(name) || FRAMING.has(name.toLowerCase())) return false;
  if (plainNames.size < MAX_SPELLINGS) plainNames.add(name);
  return true;
}

/**
 * Returns the head up to its empty line, one character per byte. `host`: value of the `host` header. Returns `undefined` if the
 * request is unusual and must be sent by undici.
 */
export function requestText({ method, path, headers, body }: UpstreamRequest, host: string): string | undefined {
  const length = body?.length ?? 0;
  const isKnown = WITH_BODY.has(method) || (length === 0 && WITHOUT_BODY.has(method));
  if (!isKnown || !PATH.test(path) || headers.length % 2 !== 0) return undefined;
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    const value = headers[at + 1] as string;
    if (!isPlainName(name) || NO_VALUE.test(value)) return undefined;
    text += `${name}: ${value}\r\n`;
  }
  return WITH_BODY.has(method) ? `${text}content-length: ${length}\r\n\r\n` : `${text}\r\n`;
}
