/** Rows of the lists that ports provide, in memory; they never change. */

import { type RowOf, TABLES } from "../../../../src/admin-api/index.ts";
import type { Ports, ProvidedTable } from "../../../../src/server/admin/ports.ts";

type Rows = { readonly [T in ProvidedTable]?: readonly Omit<RowOf<T>, "node">[] };

/** A list that is not named has none. */
export function memoryRows(rows: Rows = {}): Ports["rows"] {
  const of = (table: string) => rows[table as ProvidedTable] ?? [];
  return Object.fromEntries(
    Object.keys(TABLES).map((table) => [table, { list: () => of(table), onChange: () => () => undefined }]),
  ) as unknown as Ports["rows"];
}
