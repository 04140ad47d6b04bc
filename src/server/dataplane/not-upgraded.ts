/**
 * Offers to go on in another protocol than HTTP/1.1, which are not taken up: the request is served as it is without them
 * (RFC 9110, section 7.8). Node gives up a connection over any such offer once somebody listens for sessions, and tells no
 * one of a body, so the request is put back before what follows it, less the offer, and read once more.
 */
import type { IncomingMessage } from "node:http";

/** Further headers are not told: one of them might say where the body ends. Node's own bound, of names and values together. */
const MAX_RAW_HEADERS = 2_000;

/** Of the offer, and of one connection alone. */
const OFFERING: ReadonlySet<string> = new Set(["upgrade", "http2-settings"]);

export function offersWebSocket({ headers: { upgrade = "" } }: IncomingMessage): boolean {
  return upgrade.split(",").some((protocol) => /^websocket(?:\/|$)/i.test(protocol.trim()));
}

/** The head of the request without the offer, as bytes; undefined where it is not known whole. */
export function headWithoutOffer({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer | undefined {
  if (rawHeaders.length >= MAX_RAW_HEADERS) return undefined;
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const value = rawHeaders[at + 1] as string;
    const lower = name.toLowerCase();
    if (OFFERING.has(lower)) continue;
    const kept = lower === "connection" ? withoutOffering(value) : value;
    if (kept !== undefined) text += `${name}: ${kept}\r\n`;
  }
  return Buffer.from(`${text}\r\n`, "latin1");
}

/** Undefined where nothing is left. */
function withoutOffering(connection: string): string | undefined {
  const options = connection.split(",").filter((option) => !OFFERING.has(option.trim().toLowerCase()));
  return options.length === 0 ? undefined : options.join(",");
}
