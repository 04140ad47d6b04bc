/**
 * Answers of a node of an earlier version, as one of this version gives them: columns that it does not have yet are filled
 * with what they say where nothing is known. While a cluster is renewed node by node the console is often the newer one.
 *
 * A column stands here from the version that adds it on. What an answer cannot do without, a name or an id, never does.
 */

import type { BackendFailure, RowOf, TableName } from "../../admin-api/index.ts";
import type { PlainId, Row } from "./readables.ts";

const LISTS: { readonly [T in TableName]?: Partial<RowOf<T>> } = {
  backends: { node: "" },
  budgets: { unaccounted: 0, refused_per_minute: 0, node: "" },
  cluster_members: { clock_offset_ms: null, node: "" },
};

const FAILURE: Partial<BackendFailure> = {
  request: "",
  caller: null,
  model: null,
  /** Not known: no attempt ends before it begins. */
  duration_ms: -1,
  error_type: null,
  error_code: null,
  node: "",
};

const ITEMS: { readonly [Id in PlainId]?: Row } = { list_backend_errors: FAILURE };

/** The rows themselves where none lacks a column. */
export const rowsAsNow = (table: TableName, rows: readonly Row[]): readonly Row[] => filled(rows, LISTS[table]);

export const itemsAsNow = (id: PlainId, items: readonly Row[]): readonly Row[] => filled(items, ITEMS[id]);

function filled(rows: readonly Row[], columns: Row | undefined): readonly Row[] {
  if (columns === undefined) return rows;
  const names = Object.keys(columns);
  const isWhole = (row: Row): boolean => names.every((name) => Object.hasOwn(row, name));
  return rows.every(isWhole) ? rows : rows.map((row) => (isWhole(row) ? row : { ...columns, ...row }));
}
