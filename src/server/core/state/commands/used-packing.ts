/**
 * Many rows of whole numbers as one short text: fields in base 36 with commas between, a 0 left out, a row ended by the
 * first of its trailing zeros; rows with semicolons between. `[[1, 0, 36], [2, 0, 0]]` is `1,,10;2`.
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
 * Calls `visit` for each row, with one array of `width` numbers that it may not keep: a ledger has very many rows. Throws
 * `Malformed` on what `packRows` does not write; an empty text has no rows.
 */
export function scanPacked(text: string, width: number, visit: (row: readonly number[]) => void): void {
  if (text === "") return;
  const row: number[] = new Array<number>(width).fill(0);
  let field = 0;
  let value = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === SEMICOLON) {
      row[field] = value;
      value = 0;
      if (code === COMMA) {
        field += 1;
        if (field === width) throw new Malformed("a packed row has too many fields");
      } else {
        row.fill(0, field + 1);
        visit(row);
        field = 0;
      }
      continue;
    }
    value = value * 36 + digitOf(code);
    if (value > Number.MAX_SAFE_INTEGER) throw new Malformed("a packed number is too large");
  }
  row[field] = value;
  row.fill(0, field + 1);
  visit(row);
}

function digitOf(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  if (code >= 97 && code <= 122) return code - 87;
  throw new Malformed("a packed number has a character that is no digit");
}

/** At most `max` rows. Throws `Malformed`. */
export function unpackRows(text: string, width: number, max: number): readonly (readonly number[])[] {
  const rows: (readonly number[])[] = [];
  scanPacked(text, width, (row) => {
    if (rows.length === max) throw new Malformed("there are too many packed rows");
    rows.push([...row]);
  });
  return rows;
}

/** The sum of two counts, which stays a safe integer whatever is reported. */
export const addCounts = (a: number, b: number): number => Math.min(a + b, Number.MAX_SAFE_INTEGER);
