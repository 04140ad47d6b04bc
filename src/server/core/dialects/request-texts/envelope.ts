/**
 * Texts of a request beside its body: values of headers and of the query. They can be read and refused, never rewritten.
 * Source: design decisions, section 11.
 */
import { isUtf8 } from "node:buffer";
import { HOP_BY_HOP_HEADERS } from "../../../../base/index.ts";
import { decoded } from "../readings.ts";

export interface EnvelopeText {
  readonly kind: "header" | "query";
  /** `header:<lower-case name>` or `query:<name>`. */
  readonly ref: string;
  readonly text: string;
  readonly turn: number;
  readonly isReadOnly: true;
}

/** Headers that hold credentials, and those of one connection. */
const UNREAD_HEADERS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_HEADERS,
  "host",
  "content-length",
  "authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "cookie",
]);

/** A token may stand among the subprotocols. */
const HANDSHAKE = "sec-websocket-";

/** `headers`: names and values in turn, as they came, one character a byte. */
export function headerTexts(headers: readonly string[]): readonly EnvelopeText[] {
  const texts: EnvelopeText[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = (headers[at] ?? "").toLowerCase();
    const value = headers[at + 1] ?? "";
    if (value === "" || UNREAD_HEADERS.has(name) || name.startsWith(HANDSHAKE)) continue;
    const bytes = Buffer.from(value, "latin1");
    const text = isUtf8(bytes) ? bytes.toString("utf8") : value;
    texts.push({ kind: "header", ref: `header:${name}`, text, turn: 0, isReadOnly: true });
  }
  return texts;
}

/** `query`: with its question mark, or empty. What has no sign of equality is a value without a name. */
export function queryTexts(query: string): readonly EnvelopeText[] {
  const texts: EnvelopeText[] = [];
  for (const pair of query.slice(1).split("&")) {
    const equals = pair.indexOf("=");
    const text = unescaped(pair.slice(equals + 1));
    const name = equals < 0 ? "" : unescaped(pair.slice(0, equals));
    if (text !== "") texts.push({ kind: "query", ref: `query:${name}`, text, turn: 0, isReadOnly: true });
  }
  return texts;
}

const unescaped = (text: string): string => decoded(text.replaceAll("+", " "));
