/**
 * On how many members a change is seen: the log index that the node asked had reached after it, against how far each
 * member is. A leader knows of all; a follower asks each other member, and the doors that were given are asked too.
 */

import { type AdminClient, AdminError, createAdminClient, type OperationAnswer } from "../../admin-api/index.ts";
import { anySignal, pause } from "../../base/index.ts";
import type { ConsoleDoor } from "../model/ports.ts";

const LIMIT_MS = 5_000;
const DOOR_LIMIT_MS = 2_000;
const WAIT = "1s";
const AGAIN_MS = 200;

export interface Visibility {
  readonly index: number;
  readonly on: readonly string[];
  readonly members: readonly string[];
}

/**
 * `onChange` is told each step, and by each door as it answers; resolves once all are there, or after five seconds with
 * those that were.
 */
export async function follow(
  client: AdminClient,
  others: readonly ConsoleDoor[],
  onChange: (now: Visibility) => void,
  signal: AbortSignal,
): Promise<Visibility> {
  const until = anySignal([signal, AbortSignal.timeout(LIMIT_MS)]);
  const { node, applied_index: index } = await persistently(
    () => client.call("get_status", {}, { signal: until }),
    until,
  );
  const there = new Set([node]);
  let read: number | undefined;
  let members: readonly string[] = [node];
  const now = (): Visibility => ({ index, on: members.filter((id) => there.has(id)), members });
  let told = 0;
  /** Says how it stands once the members are known, and then only what is new. */
  function tell(): void {
    const seen = now();
    if (read === undefined || until.aborted || seen.on.length === told) return;
    told = seen.on.length;
    onChange(seen);
  }
  try {
    do {
      // Doors that hang hold nobody up who answers.
      await Promise.all([
        persistently(() => listMembers(client, read, until), until).then((list) => {
          read = list.index;
          // Of the node asked; each other member tells at least how far it is itself.
          members = list.items.filter((row) => (row.node ?? node) === node).map(({ id }) => id);
          for (const { id, applied } of list.items) if (applied !== null && applied >= index) there.add(id);
          tell();
        }),
        askDoors(others, index, until, (id) => {
          there.add(id);
          tell();
        }),
      ]);
    } while (!members.every((id) => there.has(id)) && !until.aborted);
  } catch (error) {
    // Time is up, or the door went: what was seen until then was seen.
    if (signal.aborted) throw error;
  }
  return now();
}

type Members = OperationAnswer<"list_cluster_members">;

/** As all of them see it; of a node of an earlier version as that one does. */
async function listMembers(client: AdminClient, index: number | undefined, signal: AbortSignal): Promise<Members> {
  const query = index === undefined ? {} : { index, wait: WAIT };
  const options = { signal, timeLimitMs: LIMIT_MS };
  try {
    return await client.call("list_cluster_members", { query: { ...query, nodes: "all" } }, options);
  } catch (error) {
    if (!(error instanceof AdminError && error.status === 400)) throw error;
    return await client.call("list_cluster_members", { query }, options);
  }
}

/** Asks again where only the moment is against it: a connection that broke, or an election after a leader's death. */
async function persistently<Value>(ask: () => Promise<Value>, until: AbortSignal): Promise<Value> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const isOfTheMoment = error instanceof AdminError && (error.code === "unreachable" || error.status === 503);
      if (!isOfTheMoment || until.aborted) throw error;
      await pause(AGAIN_MS, until);
    }
  }
}

async function askDoors(
  doors: readonly ConsoleDoor[],
  index: number,
  signal: AbortSignal,
  onThere: (id: string) => void,
): Promise<void> {
  await Promise.all(
    doors.map(async ({ door }) => {
      const client = createAdminClient({ door, timeLimitMs: DOOR_LIMIT_MS });
      try {
        const status = await client.call("get_status", {}, { signal });
        if (status.applied_index >= index) onThere(status.node);
      } catch {
        // A door that does not answer shows nothing; the link says so if it is the one in use.
      } finally {
        client.close();
      }
    }),
  );
}
