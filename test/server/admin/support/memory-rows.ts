/** In-memory rows of the lists that ports provide; they never change. */

import { type RowOf, TABLES } from "../../../../src/admin-api/index.ts";
import type { JsonSchema } from "../../../../src/base/index.ts";
import type { Ports, ProvidedTable } from "../../../../src/server/admin/ports.ts";

type Rows = { readonly [T in ProvidedTable]?: readonly Omit<RowOf<T>, "node">[] };

/** One row of each list, generated from its schema. */
export const sampleRows = (): Rows =>
  Object.fromEntries(Object.entries(TABLES).map(([table, { json }]) => [table, [sampleRow(json)]]));

function sampleRow(schema: JsonSchema): Readonly<Record<string, unknown>> {
  const { node: _, ...columns } = schema["properties"] as Readonly<Record<string, JsonSchema>>;
  return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, sampleValue(column)]));
}

function sampleValue({ enum: values, type, format, minimum }: JsonSchema): unknown {
  if (Array.isArray(values)) return values[0];
  if (Array.isArray(type) && type.includes("null")) return null;
  switch (type) {
    case "string":
      return format === "date-time" ? "2026-11-20T12:00:00.000Z" : "a";
    case "integer":
    case "number":
      return minimum ?? 0;
    case "boolean":
      return false;
    case "array":
      return [];
    default:
      return {};
  }
}

/** A list that is not named has no rows. */
export function memoryRows(rows: Rows = {}): Ports["rows"] {
  const of = (table: string) => rows[table as ProvidedTable] ?? [];
  return Object.fromEntries(
    Object.keys(TABLES).map((table) => [table, { list: () => of(table), onChange: () => () => undefined }]),
  ) as unknown as Ports["rows"];
}
