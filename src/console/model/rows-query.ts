/** The rows of a table as a statement of the query workbench, for `o`. */

import type { TableName } from "../../admin-api/index.ts";

export interface RowsQuery {
  readonly table: TableName;
  /** What is selected: a column, or an expression `AS` a name. */
  readonly columns: readonly string[];
  /** Columns that tell the rows of the view apart, named as in the row's JSON. */
  readonly key: readonly string[];
  /** Columns by which rows of several nodes become the one row that the view shows. */
  readonly group?: readonly string[];
  /** `ORDER BY`, unless the operator sorts by another column that is selected. */
  readonly order?: string;
  /** Rows that the view reads, where the table has more. */
  readonly limit?: number;
}

/** Sum over the nodes, under the column's own name. */
export const summed = (column: string): string => `sum(${column}) AS ${column}`;
export const largest = (column: string): string => `max(${column}) AS ${column}`;
export const smallest = (column: string): string => `min(${column}) AS ${column}`;
/** Different values of the nodes, joined by commas. */
export const valuesOf = (column: string): string => `group_concat(DISTINCT ${column}) AS ${column}`;
