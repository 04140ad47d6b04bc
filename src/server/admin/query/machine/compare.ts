/**
 * Comparison of values, and the texts that represent them in lookups and sorting.
 *
 * NULL compares with nothing. Numbers and booleans compare as numbers, texts by their UTF-16 units. A text compared with a
 * number is parsed as a number (parameters of the command line are texts); if it is none, it is greater than every number.
 */

import { createHash } from "node:crypto";
import type { Value } from "../plan.ts";

/** Value of a row: absent if a left join found nothing. */
export type Cell = Value | undefined;

const NUMBER = /^ *[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)? *$/;

/** Parses a text as a number; `undefined` if it is none. */
export function parseNumber(text: string): number | undefined {
  if (text.length > 64 || !NUMBER.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Returns a number below, equal to or above 0; null if either is NULL. */
export function compare(a: Cell, b: Cell): number | null {
  if (a == null || b == null) return null;
  if (typeof a === "string") return typeof b === "string" ? order(a, b) : -compareNumberToText(b, a);
  return typeof b === "string" ? compareNumberToText(a, b) : order(Number(a), Number(b));
}

const order = <T extends string | number>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

/** Length of the word `false`. */
const MAX_WORD_LENGTH = 5;

function compareNumberToText(value: number | boolean, text: string): number {
  if (typeof value === "boolean" && text.length <= MAX_WORD_LENGTH) {
    const word = text.toLowerCase();
    if (word === "true" || word === "false") return order(Number(value), Number(word === "true"));
  }
  const number = parseNumber(text);
  return number === undefined ? -1 : order(Number(value), number);
}

/** Returns SQL's `=`: null if either value is NULL. */
export function isEqual(a: Cell, b: Cell): boolean | null {
  const order = compare(a, b);
  return order === null ? null : order === 0;
}

/** Length in UTF-16 units above which a text is looked up by its digest, to limit the memory. */
const MAX_KEY_LENGTH = 128;

/** Returns a key that differs for different values; NULL equals NULL. No key is a property of an object's prototype. */
export function keyText(values: readonly Cell[]): string {
  return values.map(keyPart).join("");
}

function keyPart(value: Cell): string {
  switch (typeof value) {
    case "string":
      if (value.length > MAX_KEY_LENGTH) return `h${createHash("sha256").update(value, "utf16le").digest("base64")}`;
      return `t${value.length}:${value}`;
    case "number":
      return `d${value};`;
    case "boolean":
      return value ? "y" : "n";
    default:
      return "-";
  }
}

/** Returns the key of the left side of a lookup by equality. A key with a NULL matches no `rightKey`. */
export const leftKey = (...values: readonly Cell[]): string =>
  values.some((it) => it == null) ? "L" : keyText(values);
export const rightKey = (...values: readonly Cell[]): string =>
  values.some((it) => it == null) ? "R" : keyText(values);

const bytes = new DataView(new ArrayBuffer(8));

/** Returns the sort rank of a value's kind: NULLs, then numbers and booleans, then texts; or NULLs at the end. */
export function sortKind(value: Cell, isNullLeast: boolean): number {
  if (value == null) return isNullLeast ? 0 : 3;
  return typeof value === "string" ? 2 : 1;
}

/** Returns a text that sorts like the value among values of its kind. A text is returned unchanged, because it may be long. */
export function sortText(value: Cell): string {
  if (value == null) return "";
  if (typeof value === "string") return value;
  bytes.setFloat64(0, Number(value) + 0);
  const isNegative = (bytes.getUint8(0) & 0x80) !== 0;
  // The bit patterns of positive numbers sort like the numbers, those of negative numbers in reverse.
  const high = isNegative ? ~bytes.getUint32(0) : bytes.getUint32(0) | 0x80000000;
  const low = isNegative ? ~bytes.getUint32(4) : bytes.getUint32(4);
  return hex(high) + hex(low);
}

const hex = (bits: number): string => (bits >>> 0).toString(16).padStart(8, "0");
