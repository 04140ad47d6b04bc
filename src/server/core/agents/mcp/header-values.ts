/**
 * Decodes the values of `Mcp-Name` and `Mcp-Param-*`: plain, or base64 between markers. Source: mcp reference, 2, Value
 * encoding.
 */
import { isUtf8 } from "node:buffer";

const PREFIX = "=?base64?";
const SUFFIX = "?=";
const PLAIN = /^[\t\x20-\x7e]*$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Decodes a header value. Returns `undefined` if it is malformed. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!PLAIN.test(value)) return undefined;
  const trimmed = value.trim();
  if (!isMarked(trimmed)) return trimmed;
  const encoded = trimmed.slice(PREFIX.length, -SUFFIX.length);
  if (!BASE64.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, "base64");
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}

export function encodeHeaderValue(text: string): string {
  const isPlain = PLAIN.test(text) && text.trim() === text && !isMarked(text);
  return isPlain ? text : `${PREFIX}${Buffer.from(text).toString("base64")}${SUFFIX}`;
}

const isMarked = (text: string): boolean =>
  text.length >= PREFIX.length + SUFFIX.length && text.startsWith(PREFIX) && text.endsWith(SUFFIX);
