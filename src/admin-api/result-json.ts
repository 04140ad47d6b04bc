/**
 * Formats the rows of a query as JSON: one document with an object per row and a line per row, so that it can be compared and
 * paged. Control characters that JSON leaves unescaped are escaped here: the value is the same, and terminals do not act on
 * them.
 */

import { escapeControlsOfLines } from "../base/index.ts";
import type { QueryResult } from "./operations/query.ts";

type Rows = Pick<QueryResult, "columns" | "rows">;

/** Returns a column name that occurs twice, which objects cannot represent; `undefined` if there is none. */
export const columnNamedTwice = ({ columns }: Pick<QueryResult, "columns">): string | undefined =>
  columns.find(({ name }, at) => columns.findIndex((other) => other.name === name) < at)?.name;

/** Yields texts that form the document when joined; column names must be unique. */
export function* objectLines(result: Rows): Generator<string> {
  const { rows } = result;
  if (rows.length === 0) return yield "[]\n";
  const textOf = objectTexts(result);
  let separator = "[\n";
  for (const row of rows) {
    yield separator + textOf(row);
    separator = ",\n";
  }
  yield "\n]\n";
}

/** Returns a function that formats each row as an object, in one line. */
export function objectTexts({ columns }: Pick<QueryResult, "columns">): (row: readonly unknown[]) => string {
  const fields = columns.map(({ name, type }) => ({ name: jsonText(name), type }));
  return (row) => `{${fields.map(({ name, type }, at) => `${name}:${valueText(row[at], type)}`).join(",")}}`;
}

/** Formats a value. A JSON column is text in SQL, and a value in the document. */
function valueText(value: unknown, type: string): string {
  if (type !== "json" || typeof value !== "string") return jsonText(value ?? null);
  try {
    const parsed: unknown = JSON.parse(value);
    // Keeps the original spelling if possible: parsing would change a large integer.
    return /[\r\n]/.test(value) ? jsonText(parsed) : escapeControlsOfLines(value);
  } catch {
    return jsonText(value);
  }
}

const jsonText = (value: unknown): string => escapeControlsOfLines(JSON.stringify(value));
