/** Tables of `query`, derived from the columns of the lists: types, and their description for a caller. */

import { type QueryTables, TABLES, type TableName } from "../../../admin-api/index.ts";
import type { JsonSchema } from "../../../base/index.ts";
import type { SqlType } from "./plan.ts";

interface TableColumn {
  readonly name: string;
  readonly type: SqlType;
  readonly description: string;
}

const TYPES: Readonly<Record<string, SqlType>> = {
  string: "text",
  integer: "integer",
  number: "real",
  boolean: "boolean",
  object: "json",
  array: "json",
};

/** Returns the type without `null`, which every column may contain. */
function typeOf({ type }: JsonSchema): SqlType {
  const names: readonly unknown[] = Array.isArray(type) ? type : [type];
  const name = names.find((it) => it !== "null");
  return (typeof name === "string" ? TYPES[name] : undefined) ?? "unknown";
}

const describe = ({ description }: JsonSchema): string => (typeof description === "string" ? description : "");

export function columnsOf(table: TableName): readonly TableColumn[] {
  return Object.entries(TABLES[table].keys).map(([name, { json }]) => ({
    name,
    type: typeOf(json),
    description: describe(json),
  }));
}

/** Describes the tables that a caller may read. */
export function describeTables(permitted: readonly TableName[]): QueryTables {
  return {
    items: [...permitted].sort().map((name) => ({
      name,
      description: describe(TABLES[name].json),
      columns: columnsOf(name),
    })),
  };
}
