/**
 * Formats the rows of a query as CSV: RFC 4180 with a header. Lines end in CRLF, NULL is an empty field and the empty text is
 * `""`. A text that begins with `=`, `+`, `-` or `@` is not changed, since the file must contain the gateway's values; a
 * spreadsheet that interprets such a cell as a formula must import the column as text.
 */

import type { QueryResult } from "./operations/query.ts";

/** Yields lines, each with its line end. */
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

/** Returns a value of a row as text; empty for NULL. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
