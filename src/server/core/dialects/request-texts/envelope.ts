/**
 * Texts of a request beside its body: values of headers and of the query. They can be read and refused, never rewritten.
 * Source: design decisions, section 11.
 *
 * A value is bytes, and who reads it chooses how: of a value that is not ASCII its UTF-8 and its Latin-1 are both texts; of
 * the query, a plus is a space and itself, and what still holds an escape once it is decoded is decoded once more, since
 * some providers stand behind a proxy that does. A third time is not read, nor are names. Headers that never go on are read
 * like the others: they are the client's words too.
 */
import { HOP_BY_HOP_HEADERS } from "../../../../base/index.ts";
import { decoded } from "../readings.ts";
import { uninspectedNames } from "../uninspected.ts";

export interface EnvelopeText {
  readonly kind: "header" | "query";
  /** `header:<lower-case name>` or `query:<name>`. */
  readonly ref: string;
  readonly text: string;
  readonly turn: number;
  readonly isReadOnly: true;
}

/** Headers that hold credentials, and those of one connection. */
const UNREAD_HEADERS: ReadonlySet<string> = new Set([...HOP_BY_HOP_HEADERS, ...uninspectedNames("headers", "any")]);

/** A token may stand among the subprotocols. */
const HANDSHAKE = "sec-websocket-";

/** `headers`: names and values in turn, as they came, one character a byte. One text for each reading of a value. */
export function headerTexts(headers: readonly string[]): readonly EnvelopeText[] {
  const texts: EnvelopeText[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = (headers[at] ?? "").toLowerCase();
    if (UNREAD_HEADERS.has(name) || name.startsWith(HANDSHAKE)) continue;
    addReadings(texts, "header", name, [headers[at + 1] ?? ""]);
  }
  return texts;
}

/** `query`: with its question mark, or empty; as it came, one character a byte. What has no sign of equality is a value without a name. */
export function queryTexts(query: string): readonly EnvelopeText[] {
  const texts: EnvelopeText[] = [];
  for (const pair of query.slice(1).split("&")) {
    const equals = pair.indexOf("=");
    const name = equals < 0 ? "" : decoded(pair.slice(0, equals).replaceAll("+", " "));
    addReadings(texts, "query", name, unescaped(pair.slice(equals + 1)));
  }
  return texts;
}

/** `values`: one character a byte. */
function addReadings(texts: EnvelopeText[], kind: EnvelopeText["kind"], name: string, values: Iterable<string>): void {
  const readings = new Set<string>();
  for (const value of values) {
    if (NOT_ASCII.test(value)) readings.add(Buffer.from(value, "latin1").toString("utf8"));
    readings.add(value);
  }
  readings.delete("");
  for (const text of readings) texts.push({ kind, ref: `${kind}:${name}`, text, turn: 0, isReadOnly: true });
}

const NOT_ASCII = /[^\0-\x7f]/;
const ESCAPES = /%([0-9a-f]{2})/gi;

/** What a value may be read as: decoded once and, where that leaves escapes, once more. */
function unescaped(written: string): ReadonlySet<string> {
  const once = decodedBytes(written);
  const values = new Set(once);
  for (const value of once) {
    if (value.search(ESCAPES) < 0) continue;
    for (const twice of decodedBytes(value)) values.add(twice);
  }
  return values;
}

/** With a plus as a space, as forms have it (WHATWG URL, section 5.1), and as itself (RFC 3986). */
function decodedBytes(written: string): readonly string[] {
  const bytesOf = (text: string): string =>
    text.replace(ESCAPES, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  return written.includes("+") ? [bytesOf(written.replaceAll("+", " ")), bytesOf(written)] : [bytesOf(written)];
}
