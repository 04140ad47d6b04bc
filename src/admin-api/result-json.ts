/**
 * The rows of a query as JSON: one document of an object a row, a row a line, so that it can be compared and paged through.
 * JSON leaves some controls as they are; here they are spelled out, which says the same and no terminal obeys it.
 */

import { escapeControlsOfLines } from "../base/index.ts";
import type { QueryResult } from "./operations/query.ts";

type Rows = Pick<QueryResult, "columns" | "rows">;

/** An object has each name once: such a result cannot be told by objects. Undefined: it can. */
export const columnNamedTwice = ({ columns }: Pick<QueryResult, "columns">): string | undefined =>
  columns.find(({ name }, at) => columns.findIndex((other) => other.name === name) < at)?.name;

/** Texts that make up the document when they are joined; no column is named twice. */
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

/** The text of each row as an object, in one line. */
export function objectTexts({ columns }: Pick<QueryResult, "columns">): (row: readonly unknown[]) => string {
  const fields = columns.map(({ name, type }) => ({ name: jsonText(name), type }));
  return (row) => `{${fields.map(({ name, type }, at) => `${name}:${valueText(row[at], type)}`).join(",")}}`;
}

/** What a column of JSON holds is text to SQL, and a value of the document. */
function valueText(value: unknown, type: string): string {
  if (type !== "json" || typeof value !== "string") return jsonText(value ?? null);
  try {
    const parsed: unknown = JSON.parse(value);
    // As it was written where it can be: a large integer would not survive being read.
    return /[\r\n]/.test(value) ? jsonText(parsed) : escapeControlsOfLines(value);
  } catch {
    return jsonText(value);
  }
}

const jsonText = (value: unknown): string => escapeControlsOfLines(JSON.stringify(value));
