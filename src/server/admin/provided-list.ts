/** Source of a list whose rows a port provides. */

import { TABLES } from "../../admin-api/index.ts";
import { mapRows } from "./handler-types.ts";
import { countedVersion, type ListSource } from "./lists.ts";
import type { Ports, ProvidedTable } from "./ports.ts";

/** Returns the source of a list. Adds the column `node` if the list has one. */
export function providedList(table: ProvidedTable, { cluster, rows }: Ports): ListSource<unknown> {
  const source = rows[table];
  const isPerNode = "node" in TABLES[table].keys;
  return {
    ...countedVersion((listener) => source.onChange(listener)),
    async take() {
      const taken: Iterable<object> = await source.list();
      if (!isPerNode) return () => taken;
      const { nodeId: node } = cluster.status();
      return () => mapRows(taken, (row) => ({ ...row, node }));
    },
  };
}
