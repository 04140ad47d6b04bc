/**
 * Statement for `o`: selects the rows of a table as on the screen. A filter becomes conditions on columns if these find exactly
 * the filtered rows; otherwise the rows are listed by their keys.
 */

import type { RowsQuery } from "../model/rows-query.ts";
import type { TableState } from "../model/state.ts";
import type { Table } from "../model/table.ts";
import { plainFilterText } from "./filter.ts";
import type { Listing } from "./listing.ts";

/** Maximum length of a condition, in UTF-16 units: the gateway's limit (65,536) less the rest of the statement. */
const MAX_CONDITION_LENGTH = 60_000;

type Json = Readonly<Record<string, unknown>>;

interface RowsStatement {
  readonly sql: string;
  /** True if the statement selects the filtered rows; false if they are too many to list, so that it selects all rows. */
  readonly isFiltered: boolean;
}

/** Builds the statement. `isPart` is true if the view itself shows only some rows of the table, such as those of its subject. */
export function rowsStatement(query: RowsQuery, listing: Listing, of: TableState, isPart: boolean): RowsStatement {
  const isWhole = listing.order.length === listing.table.count && !isPart;
  const condition = isWhole ? undefined : conditionOf(query, listing, of, isPart);
  const order = orderOf(query, of) ?? query.order;
  const parts = [
    `SELECT ${query.columns.join(", ")} FROM ${query.table}`,
    ...(condition === undefined ? [] : [`WHERE ${condition}`]),
    ...(query.group === undefined ? [] : [`GROUP BY ${query.group.join(", ")}`]),
    ...(order === undefined ? [] : [`ORDER BY ${order}`]),
    ...(query.limit === undefined ? [] : [`LIMIT ${query.limit}`]),
  ];
  return { sql: parts.join(" "), isFiltered: isWhole || condition !== undefined };
}

/** Returns the column by which the operator sorts, if it is selected. */
function orderOf({ columns }: RowsQuery, { sort }: TableState): string | undefined {
  if (sort === undefined) return undefined;
  const isSelected = columns.some((column) => (/ AS (\w+)$/.exec(column)?.[1] ?? column) === sort.column);
  return isSelected ? `${sort.column}${sort.isDescending ? " DESC" : ""}` : undefined;
}

function conditionOf(query: RowsQuery, { table, order }: Listing, of: TableState, isPart: boolean): string | undefined {
  const kept = new Set(order);
  const text = of.isNarrowed || isPart ? undefined : plainFilterText(of.filter);
  const byColumns = text === undefined ? undefined : columnsCondition(table, kept, text);
  const condition = byColumns ?? keysCondition(query.key, table, kept, isPart);
  return condition.length > MAX_CONDITION_LENGTH ? undefined : condition;
}

/** Returns a condition on columns that finds exactly these rows; `undefined` if there is none. */
function columnsCondition(table: Table, kept: ReadonlySet<number>, text: string): string | undefined {
  const rows = Array.from({ length: table.count }, (_, at) => partsOf(table, at));
  const isExact = (finds: (row: Json) => boolean): boolean =>
    rows.every((parts, at) => parts.some(finds) === kept.has(at) && parts.every(finds) === kept.has(at));
  const [, named = "", value = ""] = /^(\w+)=(.*),$/s.exec(text) ?? [];
  if (named !== "" && isExact((row) => row[named] === value)) return `${named} = ${literal(value)}`;
  const wanted = text.toLowerCase();
  const holds = (row: Json, column: string): boolean => {
    const cell = row[column];
    return typeof cell === "string" && cell.toLowerCase().includes(wanted);
  };
  const columns = Object.keys(rows[0]?.[0] ?? {}).filter((column) => rows.flat().some((row) => holds(row, column)));
  const single = columns.find((column) => isExact((row) => holds(row, column)));
  const found = single === undefined ? columns : [single];
  if (found.length === 0 || !isExact((row) => found.some((column) => holds(row, column)))) return undefined;
  return found.map((column) => likeCondition(column, wanted)).join(" OR ");
}

function likeCondition(column: string, wanted: string): string {
  const pattern = literal(`%${wanted.replace(/[\\%_]/g, "\\$&")}%`);
  return `lower(${column}) LIKE ${pattern}${/[\\%_]/.test(wanted) ? " ESCAPE '\\'" : ""}`;
}

/** Lists the kept rows or, if that is shorter, excludes the others. */
function keysCondition(key: readonly string[], table: Table, kept: ReadonlySet<number>, isPart: boolean): string {
  const isShorter = isPart || kept.size * 2 <= table.count;
  const named = Array.from({ length: table.count }, (_, at) => at).filter((at) => kept.has(at) === isShorter);
  const rows = named.map((at) => partsOf(table, at)[0] ?? {});
  const hasNull = new Set(key.filter((column) => rows.some((row) => row[column] == null)));
  const operand = key.map((column) => (hasNull.has(column) ? `coalesce(${column}, '')` : column)).join(" || ' ' || ");
  const values = rows.map((row) => literal(key.map((column) => String(row[column] ?? "")).join(" ")));
  if (values.length === 0) return isShorter ? "false" : "true";
  return `${operand} ${isShorter ? "IN" : "NOT IN"} (${[...new Set(values)].join(", ")})`;
}

/** Returns the row as each node has it; a single one if the view does not merge nodes. */
function partsOf(table: Table, at: number): readonly Json[] {
  const json = table.jsonOf(at);
  return (Array.isArray(json) ? json : [json]) as readonly Json[];
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
