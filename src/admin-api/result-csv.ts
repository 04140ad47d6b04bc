/**
 * The rows of a query as CSV: RFC 4180 with a head. Lines end in CRLF, NULL is an empty field and the empty text is `""`. A
 * text that begins with `=`, `+`, `-` or `@` is kept as it is: a changed value would be a wrong one, and the file says what
 * the gateway said; a spreadsheet that takes such a cell for a formula is to be told that the column is text.
 */

import type { QueryResult } from "./operations/query.ts";

/** Lines, each with its line end. */
export function* csvLines({ columns, rows }: Pick<QueryResult, "columns" | "rows">): Generator<string> {
  yield csvLine(columns.map(({ name }) => name));
  for (const row of rows) yield csvLine(columns.map((_, at) => row[at]));
}

const csvLine = (cells: readonly unknown[]): string => `${cells.map(csvField).join(",")}\r\n`;

function csvField(value: unknown): string {
  const text = cellText(value);
  const isQuoted = value === "" || /[",\r\n]|^\s|\s$/.test(text);
  return isQuoted ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A value of a row as text. NULL is empty. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
