/**
 * Handles Upgrade offers to protocols other than WebSocket: they are ignored, and the request is served over HTTP/1.1 (RFC 9110,
 * section 7.8). With an `upgrade` listener, Node detaches the socket on any such offer and does not parse the body, so the
 * request head is put back onto the socket without the offer and parsed again.
 */
import type { IncomingMessage } from "node:http";

/**
 * Maximum number of raw header names and values together that Node reports. Node drops further headers, one of which might
 * determine where the body ends.
 */
const MAX_RAW_HEADERS = 2_000;

/** Headers that offer an upgrade; they concern one connection only. */
const UPGRADE_HEADERS: ReadonlySet<string> = new Set(["upgrade", "http2-settings"]);

export function offersWebSocket({ headers: { upgrade = "" } }: IncomingMessage): boolean {
  return upgrade.split(",").some((protocol) => /^websocket(?:\/|$)/i.test(protocol.trim()));
}

/** Returns the head of the request without the offer, or `undefined` if Node may have dropped headers. */
export function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer | undefined {
  if (rawHeaders.length >= MAX_RAW_HEADERS) return undefined;
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const value = rawHeaders[at + 1] as string;
    const lower = name.toLowerCase();
    if (UPGRADE_HEADERS.has(lower)) continue;
    const kept = lower === "connection" ? withoutUpgradeOptions(value) : value;
    if (kept !== undefined) text += `${name}: ${kept}\r\n`;
  }
  return Buffer.from(`${text}\r\n`, "latin1");
}

/** Removes the options of an offer from a `connection` header. Returns `undefined` if none is left. */
function withoutUpgradeOptions(connection: string): string | undefined {
  const options = connection.split(",").filter((option) => !UPGRADE_HEADERS.has(option.trim().toLowerCase()));
  return options.length === 0 ? undefined : options.join(",");
}
