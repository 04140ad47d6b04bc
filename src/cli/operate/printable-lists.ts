/**
 * Lists that `gateway get` prints, from the definitions of the admin API: their aliases, the column that names a row,
 * and the columns of the narrow table. `wide` and every other format show all columns.
 */

import {
  isMeasured as isMeasuredTable,
  LISTS,
  type ListDefinition,
  TABLES,
  type TableName,
} from "../../admin-api/index.ts";
import { clipArgument, didYouMean, UsageError } from "../parse-flags.ts";

type Presented = ListDefinition["get"];

/** List with its presentation in `gateway get`. */
export interface ListSpec extends Presented {
  readonly table: TableName;
}

export const ALL_LISTS: readonly ListSpec[] = Object.entries(LISTS).map(([table, { get }]) => ({
  table: table as TableName,
  ...get,
}));

/**
 * Returns the list with this name or alias, singular or plural: `keys`, `key`, `providers`. Throws `UsageError` that
 * suggests the nearest name.
 */
export function listNamed(text: string): ListSpec {
  const wanted = text.toLowerCase().replaceAll("-", "_");
  for (const list of ALL_LISTS) {
    const names = [list.table, ...list.aliases];
    if (names.some((name) => name === wanted || singularOf(name) === wanted)) return list;
  }
  const names = ALL_LISTS.flatMap(({ table, aliases }) => [table, ...aliases]);
  throw new UsageError(
    `there is no list '${clipArgument(text)}'${didYouMean(wanted, names)}; 'gateway get' alone lists them`,
  );
}

function singularOf(name: string): string {
  if (name.endsWith("ies")) return `${name.slice(0, -3)}y`;
  return name.replace(/s$/, "");
}

/** Returns whether each node measures its own rows, so that `-nodes all` may ask every node. */
export const isMeasured = ({ table }: ListSpec): boolean => isMeasuredTable(table);

export interface ColumnSpec {
  readonly name: string;
  readonly isNumeric: boolean;
  readonly isTime: boolean;
  readonly description: string;
}

/** Returns the columns of a list in the order of the contract. */
export function columnsOf({ table }: ListSpec): readonly ColumnSpec[] {
  return Object.entries(TABLES[table].keys).map(([name, { json }]) => {
    const types = [json["type"]].flat();
    return {
      name,
      isNumeric: types.includes("integer") || types.includes("number"),
      isTime: json["format"] === "date-time",
      description: String(json["description"] ?? ""),
    };
  });
}

export type Row = Readonly<Record<string, unknown>>;

/** Returns the name of a row as the command line writes it: `ci`, `provider:openai`. */
export function nameOf({ name }: ListSpec, row: Row): string {
  return name.map((column) => String(row[column] ?? "")).join(":");
}
