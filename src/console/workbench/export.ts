/**
 * A result as a file: CSV, or the JSON document that `gateway query -o rows` prints, a row a line.
 */

import { cellText, csvLines, type QueryResult } from "../../admin-api/index.ts";
import { escapeControlsOfLines } from "../../base/index.ts";

/** By what the name of the file ends with. */
export const exportOf = (result: QueryResult, file: string): string =>
  /\.csv$/i.test(file) ? csvOf(result) : `${jsonLinesOf(result).join("\n")}\n`;

export const csvOf = (result: QueryResult): string => [...csvLines(result)].join("");

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
  return row.map((value) => cellText(value).replace(/[\\\t\r\n]/g, (found) => TSV_ESCAPES[found] ?? found)).join("\t");
}

const TSV_ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\r": "\\r", "\n": "\\n" };

/** JSON leaves some controls as they are; spelled out it says the same, and no terminal obeys it. */
const jsonText = (value: unknown): string => escapeControlsOfLines(JSON.stringify(value ?? null));
