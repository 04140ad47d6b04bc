/**
 * Packs many rows of integers into one short text. Fields are in base 36, separated by commas; a 0 is empty, and trailing zeros
 * are omitted; rows are separated by semicolons. `[[1, 0, 36], [2, 0, 0]]` is `1,,10;2`.
 */

import { Malformed } from "../fields.ts";

const COMMA = 44;
const SEMICOLON = 59;

export function packRows(rows: Iterable<readonly number[]>): string {
  let text = "";
  let separator = "";
  for (const row of rows) {
    text += separator + packRow(row);
    separator = ";";
  }
  return text;
}

function packRow(row: readonly number[]): string {
  let length = row.length;
  while (length > 0 && row[length - 1] === 0) length -= 1;
  let text = "";
  for (let at = 0; at < length; at += 1) {
    const value = row[at]!;
    if (at > 0) text += ",";
    if (value !== 0) text += value.toString(36);
  }
  return text;
}

/**
 * Calls `visit` for each row with an array of `width` numbers, which is reused and must not be kept, since a ledger has very
 * many rows. Throws `Malformed` on anything that `packRows` does not write; an empty text has no rows. `wanted` says for each
 * field whether it is read; the others are 0 and not checked.
 */
export function scanPacked(
  text: string,
  width: number,
  visit: (row: readonly number[]) => void,
  wanted: readonly boolean[] = new Array<boolean>(width).fill(true),
): void {
  if (text.length === 0) return;
  // Reading bytes is twice as fast as reading characters of a substring.
  const bytes = lent !== undefined && text.length < lent.length ? lent : new Uint8Array(text.length + 1);
  lent = undefined;
  try {
    const { written, read } = encoder.encodeInto(text, bytes);
    if (read !== text.length || written !== read)
      throw new Malformed("a packed row has a character that is not a digit");
    bytes[written] = SEMICOLON;
    scanBytes(bytes, written, width, visit, wanted);
  } finally {
    lent = bytes.length === LENT_BYTES ? bytes : undefined;
  }
}

const encoder = new TextEncoder();
const LENT_BYTES = 64 * 1_024;
/** Buffer that one scan at a time reuses; a visitor may start another scan. */
let lent: Uint8Array | undefined = new Uint8Array(LENT_BYTES);

/** Scans `bytes`, which end with a semicolon at `last`. */
function scanBytes(
  bytes: Uint8Array,
  last: number,
  width: number,
  visit: (row: readonly number[]) => void,
  wanted: readonly boolean[],
): void {
  const row: number[] = new Array<number>(width).fill(0);
  let field = 0;
  let at = 0;
  while (at <= last) {
    const from = at;
    let value = 0;
    let code = bytes[at]!;
    if (wanted[field] === true) {
      while (code !== COMMA && code !== SEMICOLON) {
        value = value * 36 + digitOf(code);
        at += 1;
        code = bytes[at]!;
      }
      if (at - from > SAFE_DIGITS && value > Number.MAX_SAFE_INTEGER)
        throw new Malformed("a packed number is too large");
    } else {
      while (code !== COMMA && code !== SEMICOLON) {
        at += 1;
        code = bytes[at]!;
      }
    }
    row[field] = value;
    at += 1;
    if (code === COMMA) {
      field += 1;
      if (field === width) throw new Malformed("a packed row has too many fields");
    } else {
      for (let rest = field + 1; rest < width; rest += 1) row[rest] = 0;
      visit(row);
      field = 0;
    }
  }
}

/** Base-36 numbers with this many digits are always safe integers. */
const SAFE_DIGITS = 10;

function digitOf(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  if (code >= 97 && code <= 122) return code - 87;
  throw new Malformed("a packed number has a character that is not a digit");
}

/** Unpacks at most `max` rows. Throws `Malformed` if there are more. */
export function unpackRows(text: string, width: number, max: number): readonly (readonly number[])[] {
  const rows: (readonly number[])[] = [];
  scanPacked(text, width, (row) => {
    if (rows.length === max) throw new Malformed("there are too many packed rows");
    rows.push([...row]);
  });
  return rows;
}

/** Returns the sum of two counts, limited to the largest safe integer. */
export const addCounts = (a: number, b: number): number => Math.min(a + b, Number.MAX_SAFE_INTEGER);
