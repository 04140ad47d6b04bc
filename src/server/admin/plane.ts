/** The admin plane of a node: its lists, watched once each whatever the number of doors, and what all doors share. */

import type { TableName } from "../../admin-api/index.ts";
import type { Access } from "./access/types.ts";
import { createBodyReader } from "./body.ts";
import { LISTS } from "./handlers.ts";
import { type ListSource, type WatchedList, watchList } from "./lists.ts";
import type { Ports } from "./ports.ts";
import { openQueryEngine } from "./query/index.ts";
import type { AdminPlane } from "./request.ts";

export interface OpenPlane extends AdminPlane {
  /**
   * Answers what waits for a change, so that a door can be drained, and ends queries. Resolves once nothing is under way:
   * what a door has cut off is recorded by then. Repeated calls wait for the same end.
   */
  close(): Promise<void>;
}

export function openPlane(ports: Ports, access: Access): OpenPlane {
  const sources = new Map(
    Object.entries(LISTS).map(([table, source]): [TableName, ListSource<unknown>] => [
      table as TableName,
      source(ports),
    ]),
  );
  const lists = new Map(
    Array.from(sources, ([table, source]): [string, WatchedList<unknown>] => [table, watchList<unknown>(source)]),
  );
  const query = openQueryEngine({
    sources,
    index: () => ports.cluster.view.appliedIndex,
    now: () => ports.clock.now(),
    log: ports.log,
  });
  const underWay = new Set<Promise<void>>();
  const end = async (): Promise<void> => {
    for (const list of lists.values()) list.close();
    await query.close();
    while (underWay.size > 0) await Promise.all(underWay);
  };
  let closing: Promise<void> | undefined;
  return {
    ports: { ...ports, query },
    access,
    lists,
    bodies: createBodyReader(),
    underWay,
    close() {
      closing ??= end();
      return closing;
    },
  };
}
