/** Gathers the tables of a statement from all nodes, before the statement runs. */

import type { QueryResult, TableName } from "../../../admin-api/index.ts";
import type { GatherRows } from "../gather-nodes.ts";
import { fixedRows } from "../lists.ts";
import type { ReadTable } from "./query-protocol.ts";
import type { QueryEngineOptions, QuerySource } from "./types.ts";

interface GatheredTables {
  readonly sources: ReadonlyMap<TableName, QuerySource>;
  readonly answered: Required<Pick<QueryResult, "unanswered" | "cut">>;
}

/** Gathers the tables. Rejects only with the signal's reason. */
export async function gatherAll(
  tables: readonly ReadTable[],
  { sources, now }: QueryEngineOptions,
  gather: GatherRows,
  signal: AbortSignal,
): Promise<GatheredTables> {
  const gathered = new Map(sources);
  const unanswered = new Set<string>();
  const cut = new Set<string>();
  const names = new Set(tables.map(({ name }) => name));
  await Promise.all(
    [...names].map(async (name) => {
      const localRows = (await sources.get(name)?.take())?.(now()) ?? [];
      const all = await gather(name, localRows, signal);
      if (all === undefined) return;
      gathered.set(name, { version: () => 0, take: () => fixedRows(all.items) });
      for (const id of all.unanswered) unanswered.add(id);
      for (const id of all.cut) cut.add(id);
    }),
  );
  return { sources: gathered, answered: { unanswered: [...unanswered].sort(), cut: [...cut].sort() } };
}
