/**
 * A result as a file. CSV is RFC 4180 with a head: CRLF, NULL is an empty field and the empty text is `""`. A text that
 * begins with `=`, `+`, `-` or `@` is kept as it is: a changed value would be a wrong one, and the file says what the
 * gateway said; a spreadsheet that takes such a cell for a formula is to be told that the column is text. JSON is the
 * one document that `gateway query -o json` prints, a row a line.
 */

import type { QueryResult } from "../../admin-api/index.ts";
import { escapeControlsOfLines } from "../../base/index.ts";

/** By what the name of the file ends with. */
export const exportOf = (result: QueryResult, file: string): string =>
  /\.csv$/i.test(file) ? csvOf(result) : `${jsonLinesOf(result).join("\n")}\n`;

export function csvOf({ columns, rows }: QueryResult): string {
  const head = columns.map(({ name }) => csvField(name)).join(",");
  const lines = rows.map((row) => columns.map((_, at) => csvField(row[at])).join(","));
  return [head, ...lines].map((line) => `${line}\r\n`).join("");
}

function csvField(value: unknown): string {
  const text = textOf(value);
  const isQuoted = value === "" || /[",\r\n]|^\s|\s$/.test(text);
  return isQuoted ? `"${text.replaceAll('"', '""')}"` : text;
}

/** As many as there are rows, one before and one after. */
function jsonLinesOf(result: QueryResult): readonly string[] {
  return Array.from({ length: result.rows.length + 2 }, (_, at) => jsonLineOf(result, at));
}

export function jsonLineOf({ columns, rows, index }: QueryResult, at: number): string {
  if (at === 0) return `{"columns":${jsonText(columns)},"rows":[`;
  if (at > rows.length) return `],"index":${index}}`;
  return `${jsonText(rows[at - 1])}${at < rows.length ? "," : ""}`;
}

/** A row for the clipboard: columns parted by tabs, what would part them within a value spelled out. */
export function tsvOf(row: readonly unknown[]): string {
  return row.map((value) => textOf(value).replace(/[\\\t\r\n]/g, (found) => TSV_ESCAPES[found] ?? found)).join("\t");
}

const TSV_ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\r": "\\r", "\n": "\\n" };

/** NULL is empty. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** JSON leaves some controls as they are; spelled out it says the same, and no terminal obeys it. */
const jsonText = (value: unknown): string => escapeControlsOfLines(JSON.stringify(value ?? null));
