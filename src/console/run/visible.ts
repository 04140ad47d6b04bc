/**
 * On how many members a change is seen: the log index that the node asked had reached after it, against how far each
 * member is. A leader knows of all; of a follower's others the doors that were given are asked.
 */

import { type AdminClient, createAdminClient } from "../../admin-api/index.ts";
import type { ConsoleDoor } from "../model/ports.ts";

const LIMIT_MS = 5_000;
const DOOR_LIMIT_MS = 2_000;
const WAIT = "1s";

export interface Visibility {
  readonly index: number;
  readonly on: readonly string[];
  readonly members: readonly string[];
}

/** `onChange` is told each step; resolves once all are there, or after five seconds with those that were. */
export async function follow(
  client: AdminClient,
  others: readonly ConsoleDoor[],
  onChange: (now: Visibility) => void,
  signal: AbortSignal,
): Promise<Visibility> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  const { node, applied_index: index } = await client.call("get_status", {}, { signal: until });
  const there = new Set([node]);
  let read: number | undefined;
  let now: Visibility = { index, on: [node], members: [node] };
  const isAll = (): boolean => now.members.every((id) => there.has(id));
  try {
    do {
      const query = read === undefined ? {} : { index: read, wait: WAIT };
      const [members] = await Promise.all([
        client.call("list_cluster_members", { query }, { signal: until, timeLimitMs: LIMIT_MS }),
        askDoors(others, index, there, until),
      ]);
      read = members.index;
      for (const { id, applied } of members.items) if (applied !== null && applied >= index) there.add(id);
      const ids = members.items.map(({ id }) => id);
      now = { index, on: ids.filter((id) => there.has(id)), members: ids };
      onChange(now);
    } while (!isAll() && !until.aborted);
  } catch (error) {
    // Time is up, or the door went: what was seen until then was seen.
    if (signal.aborted) throw error;
  }
  return now;
}

async function askDoors(
  doors: readonly ConsoleDoor[],
  index: number,
  there: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    doors.map(async ({ door }) => {
      const client = createAdminClient({ door, timeLimitMs: DOOR_LIMIT_MS });
      try {
        const status = await client.call("get_status", {}, { signal });
        if (status.applied_index >= index) there.add(status.node);
      } catch {
        // A door that does not answer shows nothing; the link says so if it is the one in use.
      } finally {
        client.close();
      }
    }),
  );
}
