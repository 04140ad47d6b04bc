/** Query that selects the rows of a view, for the key `o`, which opens it in the query workbench. */

import type { TableName } from "../../admin-api/index.ts";

export interface RowsQuery {
  readonly table: TableName;
  /** Selected columns or expressions (`… AS name`). */
  readonly columns: readonly string[];
  /** Columns that identify a row of the view, named as in the row's JSON. */
  readonly key: readonly string[];
  /** Columns that group the rows of several nodes into one row of the view. */
  readonly group?: readonly string[];
  /** Default `ORDER BY` expression. The operator's sort by another selected column replaces it. */
  readonly order?: string;
  /** Maximum number of rows that the view reads, if the table has more. */
  readonly limit?: number;
}

/** Returns the sum over the nodes, under the column's own name. */
export const summed = (column: string): string => `sum(${column}) AS ${column}`;
export const largest = (column: string): string => `max(${column}) AS ${column}`;
export const smallest = (column: string): string => `min(${column}) AS ${column}`;
/** Returns the distinct values of the nodes, joined by commas. */
export const valuesOf = (column: string): string => `group_concat(DISTINCT ${column}) AS ${column}`;
