/**
 * A result as a file: what `gateway query` prints with `-o csv`, or the JSON document that it prints with `-o json`.
 */

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

/** By what the name of the file ends with. JSON: a result that `whyNoObjects` finds no fault with. */
export const exportOf = (result: QueryResult, file: string): string =>
  isCsv(file) ? csvOf(result) : [...objectLines(result)].join("");

export const csvOf = (result: QueryResult): string => [...csvLines(result)].join("");

/** Why it cannot be told by objects, as the flash line says it; undefined: it can. */
export function whyNoObjects(result: QueryResult): string | undefined {
  const twice = columnNamedTwice(result);
  return twice === undefined
    ? undefined
    : `two columns are named '${escapeControls(cutToCells(twice, 40))}', and an object has one: name them apart by AS`;
}

/** The document in lines: as many as there are rows, one before and one after. */
export function jsonLineOf(result: QueryResult, at: number): string {
  const { rows } = result;
  if (at === 0) return "[";
  const row = rows[at - 1];
  return row === undefined ? "]" : `${objectTexts(result)(row)}${at < rows.length ? "," : ""}`;
}

/** A row for the clipboard: columns parted by tabs, what would part them within a value spelled out. */
export function tsvOf(row: readonly unknown[]): string {
  return row.map((value) => cellText(value).replace(/[\\\t\r\n]/g, (found) => TSV_ESCAPES[found] ?? found)).join("\t");
}

const TSV_ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\r": "\\r", "\n": "\\n" };
