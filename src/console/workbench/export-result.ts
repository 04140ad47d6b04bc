/** Export of a result: the output of `gateway query -o csv`, or the JSON document of `gateway query -o json`. */

import {
  cellText,
  columnNamedTwice,
  csvLines,
  objectLines,
  objectTexts,
  type QueryResult,
} from "../../admin-api/index.ts";
import { cutToCells, escapeControls } from "../../base/index.ts";

export const isCsv = (file: string): boolean => /\.csv$/i.test(file);

/** Returns the export in the format of the file's extension. JSON requires a result without an error from `whyNoObjects`. */
export const exportOf = (result: QueryResult, file: string): string =>
  isCsv(file) ? csvOf(result) : [...objectLines(result)].join("");

export const csvOf = (result: QueryResult): string => [...csvLines(result)].join("");

/** Returns the reason why the rows cannot be objects, for the flash line; `undefined` if they can. */
export function whyNoObjects(result: QueryResult): string | undefined {
  const duplicate = columnNamedTwice(result);
  return duplicate === undefined
    ? undefined
    : `two columns are named '${escapeControls(cutToCells(duplicate, 40))}', and an object has one: name them apart by AS`;
}

/** Returns a line of the document: one for each row, one before and one after. */
export function jsonLineOf(result: QueryResult, at: number): string {
  const { rows } = result;
  if (at === 0) return "[";
  const row = rows[at - 1];
  return row === undefined ? "]" : `${objectTexts(result)(row)}${at < rows.length ? "," : ""}`;
}

/** Returns a row for the clipboard: columns are separated by tabs, and separators within a value are escaped. */
export function tsvOf(row: readonly unknown[]): string {
  return row.map((value) => cellText(value).replace(/[\\\t\r\n]/g, (found) => TSV_ESCAPES[found] ?? found)).join("\t");
}

const TSV_ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\r": "\\r", "\n": "\\n" };
