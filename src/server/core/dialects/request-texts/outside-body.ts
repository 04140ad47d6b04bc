/**
 * Finds the texts of a request outside its body: values of headers and of the query. They can be read and refused, but not
 * rewritten. Source: design decisions, section 11.
 *
 * A value is bytes, and its reader chooses how to decode it. So both the UTF-8 and the Latin-1 of a value that is not ASCII
 * are texts, and a plus in the query is read both as a space and as itself. Escapes are decoded, in headers too, and up to
 * three times in all, since some providers are behind a proxy that decodes. Encoded words and other forms of header values are
 * decoded as well (`header-forms.ts`). Names are not read. Headers that are never forwarded are read too, since the client
 * wrote them.
 */
import { HOP_BY_HOP_HEADERS } from "../../../../base/index.ts";
import { decoded } from "../routes/name-readings.ts";
import { uninspectedNames } from "../uninspected.ts";
import { headerForms } from "./header-forms.ts";

interface EnvelopeText {
  readonly kind: "header" | "query";
  /** Reference to the value: `header:<lower-case name>` or `query:<name>`. */
  readonly ref: string;
  readonly text: string;
  readonly turn: number;
  readonly isReadOnly: true;
}

/** Headers that contain credentials, and hop-by-hop headers. */
const UNREAD_HEADERS: ReadonlySet<string> = new Set([...HOP_BY_HOP_HEADERS, ...uninspectedNames("headers", "any")]);

const PROTOCOLS = "sec-websocket-protocol";
/** Prefixes of subprotocol names that contain a credential. */
const CREDENTIALS = [...uninspectedNames("subprotocols", "any")];

/**
 * Returns one text for each reading of a header value. `headers` alternates names and values, as received, one character per
 * byte.
 */
export function headerTexts(headers: readonly string[]): readonly EnvelopeText[] {
  const texts: EnvelopeText[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = (headers[at] ?? "").toLowerCase();
    const value = headers[at + 1] ?? "";
    if (name === PROTOCOLS) {
      // The client chooses every subprotocol name, and the header is forwarded whole, so each name is a text.
      const words = value.split(",").map((word) => word.trim());
      const own = words.filter((word) => !CREDENTIALS.some((start) => word.toLowerCase().startsWith(start)));
      for (const word of own) addReadings(texts, "header", name, headerReadings(word));
    } else if (!UNREAD_HEADERS.has(name)) addReadings(texts, "header", name, headerReadings(value));
  }
  return texts;
}

/**
 * Returns the readings of a header value: escapes decoded, and encoded words, split parameters and quotes resolved, however
 * they are nested.
 */
function headerReadings(value: string): ReadonlySet<string> {
  const plain = unescaped(value, false);
  const forms = [...plain].flatMap(headerForms);
  return forms.length === 0 ? plain : new Set([...plain, ...forms.flatMap((form) => [...unescaped(form, false)])]);
}

/**
 * Returns the texts of a query, which has its question mark or is empty, as received, one character per byte. A part without an
 * equals sign is a value without a name.
 */
export function queryTexts(query: string): readonly EnvelopeText[] {
  const texts: EnvelopeText[] = [];
  for (const pair of query.slice(1).split("&")) {
    const equals = pair.indexOf("=");
    const name = equals < 0 ? "" : decoded(pair.slice(0, equals).replaceAll("+", " "));
    addReadings(texts, "query", name, unescaped(pair.slice(equals + 1), true));
  }
  return texts;
}

/** Adds the readings of values, which have one character per byte. */
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

/** Maximum number of decodings. Proxies behind the gateway may decode more than once. */
const MAX_DECODED = 3;

/** Returns the possible readings of a value: as received (headers only), and decoded repeatedly as long as escapes remain. */
function unescaped(written: string, isQuery: boolean): ReadonlySet<string> {
  const values = new Set(isQuery ? decodedBytes(written) : [written]);
  let last: readonly string[] = [...values];
  for (let times = isQuery ? 1 : 0; times < MAX_DECODED && last.some((value) => value.search(ESCAPES) >= 0); times++) {
    last = last.flatMap((value) => (value.search(ESCAPES) < 0 ? [] : decodedBytes(value)));
    for (const value of last) values.add(value);
  }
  return values;
}

/** Decodes escapes. A plus is read both as a space, as in forms (WHATWG URL, section 5.1), and as itself (RFC 3986). */
function decodedBytes(written: string): readonly string[] {
  const bytesOf = (text: string): string =>
    text.replace(ESCAPES, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  return written.includes("+") ? [bytesOf(written.replaceAll("+", " ")), bytesOf(written)] : [bytesOf(written)];
}
