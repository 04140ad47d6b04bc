/** The admin plane of a node: its lists, watched once each whatever the number of doors, and what all doors share. */

import { type BodyReader, createBodyReader } from "./body.ts";
import { LISTS } from "./handlers.ts";
import { type WatchedList, watchList } from "./lists.ts";
import type { Ports } from "./ports.ts";
import type { AdminPlane } from "./request.ts";

export interface OpenPlane extends AdminPlane {
  readonly bodies: BodyReader;
  /** Answers what waits for a change, so that a door can be drained. */
  close(): void;
}

export function openPlane(ports: Ports): OpenPlane {
  const lists = new Map<string, WatchedList<unknown>>(
    Object.entries(LISTS).map(([table, source]) => [table, watchList<unknown>(source(ports))]),
  );
  return {
    ports,
    lists,
    bodies: createBodyReader(),
    close() {
      for (const list of lists.values()) list.close();
    },
  };
}
