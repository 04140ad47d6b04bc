/**
 * Texts of a request beside its body: values of headers and of the query. They can be read and refused, never rewritten.
 * Source: design decisions, section 11.
 *
 * A value is bytes, and who reads it chooses how: of a value that is not ASCII its UTF-8 and its Latin-1 are both texts; of
 * the query, a plus is a space and itself. Escapes are decoded, in headers too, and what still holds one is decoded again,
 * three times in all: some providers stand behind a proxy that does. So are encoded words and other forms of header
 * values (`header-forms.ts`). Names are not read. Headers that never go on are read
 * like the others: they are the client's words too.
 */
import { HOP_BY_HOP_HEADERS } from "../../../../base/index.ts";
import { decoded } from "../readings.ts";
import { uninspectedNames } from "../uninspected.ts";
import { headerForms } from "./header-forms.ts";

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

const PROTOCOLS = "sec-websocket-protocol";
/** Beginnings of subprotocols that hold a credential. */
const CREDENTIALS = [...uninspectedNames("subprotocols", "any")];

/** `headers`: names and values in turn, as they came, one character a byte. One text for each reading of a value. */
export function headerTexts(headers: readonly string[]): readonly EnvelopeText[] {
  const texts: EnvelopeText[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = (headers[at] ?? "").toLowerCase();
    const value = headers[at + 1] ?? "";
    if (name === PROTOCOLS) {
      // Each is a word of the client's, and the header as a whole is one that goes on.
      const words = value.split(",").map((word) => word.trim());
      const own = words.filter((word) => !CREDENTIALS.some((start) => word.toLowerCase().startsWith(start)));
      for (const word of own) addReadings(texts, "header", name, headerReadings(word));
    } else if (!UNREAD_HEADERS.has(name)) addReadings(texts, "header", name, headerReadings(value));
  }
  return texts;
}

/** Escapes decoded, and what encoded words, parameters in parts and quotes stand for, whichever of them is within the other. */
function headerReadings(value: string): ReadonlySet<string> {
  const plain = unescaped(value, false);
  const forms = [...plain].flatMap(headerForms);
  return forms.length === 0 ? plain : new Set([...plain, ...forms.flatMap((form) => [...unescaped(form, false)])]);
}

/** `query`: with its question mark, or empty; as it came, one character a byte. What has no sign of equality is a value without a name. */
export function queryTexts(query: string): readonly EnvelopeText[] {
  const texts: EnvelopeText[] = [];
  for (const pair of query.slice(1).split("&")) {
    const equals = pair.indexOf("=");
    const name = equals < 0 ? "" : decoded(pair.slice(0, equals).replaceAll("+", " "));
    addReadings(texts, "query", name, unescaped(pair.slice(equals + 1), true));
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

/** Who decodes behind us may do so more than once. */
const MAX_DECODED = 3;

/** What a value may be read as: as it came where it may be read so, and decoded as long as that leaves escapes. */
function unescaped(written: string, isQuery: boolean): ReadonlySet<string> {
  const values = new Set(isQuery ? decodedBytes(written) : [written]);
  let last: readonly string[] = [...values];
  for (let times = isQuery ? 1 : 0; times < MAX_DECODED && last.some((value) => value.search(ESCAPES) >= 0); times++) {
    last = last.flatMap((value) => (value.search(ESCAPES) < 0 ? [] : decodedBytes(value)));
    for (const value of last) values.add(value);
  }
  return values;
}

/** With a plus as a space, as forms have it (WHATWG URL, section 5.1), and as itself (RFC 3986). */
function decodedBytes(written: string): readonly string[] {
  const bytesOf = (text: string): string =>
    text.replace(ESCAPES, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  return written.includes("+") ? [bytesOf(written.replaceAll("+", " ")), bytesOf(written)] : [bytesOf(written)];
}
