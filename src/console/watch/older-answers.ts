/**
 * Converts answers of an older node to this version: missing columns get their value for "unknown". During a rolling
 * upgrade the console is often newer than the node.
 *
 * A version that adds a column adds its value for "unknown" here. Columns that every answer must have, such as a name
 * or an id, are not listed.
 */

import type { BackendFailure, RowOf, TableName } from "../../admin-api/index.ts";
import type { PlainId, Row } from "./read-rules.ts";

const LISTS: { readonly [T in TableName]?: Partial<RowOf<T>> } = {
  backends: { node: "" },
  budgets: { unaccounted: 0, refused_per_minute: 0, node: "" },
  cluster_members: { clock_offset_ms: null, node: "" },
};

const FAILURE: Partial<BackendFailure> = {
  request: "",
  caller: null,
  model: null,
  /** A negative duration means unknown, because no real attempt has one. */
  duration_ms: -1,
  error_type: null,
  error_code: null,
  node: "",
};

const ITEMS: { readonly [Id in PlainId]?: Row } = { list_backend_errors: FAILURE };

/** Returns the rows with missing columns added; the same array if none lacks a column. */
export const rowsAsNow = (table: TableName, rows: readonly Row[]): readonly Row[] =>
  withMissingColumns(rows, LISTS[table]);

export const itemsAsNow = (id: PlainId, items: readonly Row[]): readonly Row[] => withMissingColumns(items, ITEMS[id]);

function withMissingColumns(rows: readonly Row[], columns: Row | undefined): readonly Row[] {
  if (columns === undefined) return rows;
  const names = Object.keys(columns);
  const isWhole = (row: Row): boolean => names.every((name) => Object.hasOwn(row, name));
  return rows.every(isWhole) ? rows : rows.map((row) => (isWhole(row) ? row : { ...columns, ...row }));
}
