/**
 * Number of members that have applied a change: compares the log index that the connected node had reached after it with that
 * of each member. A leader knows all of them; a follower asks each other member, and the configured admin endpoints are asked
 * too.
 */

import { type AdminClient, AdminError, createAdminClient, type OperationAnswer } from "../../admin-api/index.ts";
import { anySignal, pause } from "../../base/index.ts";
import type { ConsoleEndpoint } from "../model/ports.ts";

const LIMIT_MS = 5_000;
const ENDPOINT_LIMIT_MS = 2_000;
const WAIT = "1s";
const RETRY_MS = 200;

export interface Visibility {
  readonly index: number;
  readonly on: readonly string[];
  readonly members: readonly string[];
}

/**
 * Follows a change. Calls `onChange` whenever a further member has applied it; resolves once all have, or after five seconds
 * with those that have.
 */
export async function followChange(
  client: AdminClient,
  others: readonly ConsoleEndpoint[],
  onChange: (now: Visibility) => void,
  signal: AbortSignal,
): Promise<Visibility> {
  const until = anySignal([signal, AbortSignal.timeout(LIMIT_MS)]);
  const { node, applied_index: index } = await retryTemporary(
    () => client.call("get_status", {}, { signal: until }),
    until,
  );
  const appliedOn = new Set([node]);
  let read: number | undefined;
  let members: readonly string[] = [node];
  const now = (): Visibility => ({ index, on: members.filter((id) => appliedOn.has(id)), members });
  let reported = 0;
  /** Reports progress once the members are known, and only changes. */
  function reportProgress(): void {
    const seen = now();
    if (read === undefined || until.aborted || seen.on.length === reported) return;
    reported = seen.on.length;
    onChange(seen);
  }
  try {
    do {
      // All requests run in parallel, so that hanging endpoints do not delay the others.
      await Promise.all([
        retryTemporary(() => listMembers(client, read, until), until).then((list) => {
          read = list.index;
          // The connected node lists all members; rows of other nodes add their own progress.
          members = list.items.filter((row) => (row.node ?? node) === node).map(({ id }) => id);
          for (const { id, applied } of list.items) if (applied !== null && applied >= index) appliedOn.add(id);
          reportProgress();
        }),
        queryEndpoints(others, index, until, (id) => {
          appliedOn.add(id);
          reportProgress();
        }),
      ]);
    } while (!members.every((id) => appliedOn.has(id)) && !until.aborted);
  } catch (error) {
    // Time is up, or the connection was lost: the result so far is valid.
    if (signal.aborted) throw error;
  }
  return now();
}

type Members = OperationAnswer<"list_cluster_members">;

/** Lists the members as all nodes see them. An older node lists them only as it sees them itself. */
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

/** Retries temporary failures: a broken connection, or an election after a leader's death. */
async function retryTemporary<Value>(ask: () => Promise<Value>, until: AbortSignal): Promise<Value> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const isTemporary = error instanceof AdminError && (error.code === "unreachable" || error.status === 503);
      if (!isTemporary || until.aborted) throw error;
      await pause(RETRY_MS, until);
    }
  }
}

async function queryEndpoints(
  endpoints: readonly ConsoleEndpoint[],
  index: number,
  signal: AbortSignal,
  onApplied: (id: string) => void,
): Promise<void> {
  await Promise.all(
    endpoints.map(async ({ endpoint }) => {
      const client = createAdminClient({ address: endpoint, timeLimitMs: ENDPOINT_LIMIT_MS });
      try {
        const status = await client.call("get_status", {}, { signal });
        if (status.applied_index >= index) onApplied(status.node);
      } catch {
        // An endpoint that does not answer adds nothing; the link reports it if it is the current one.
      } finally {
        client.close();
      }
    }),
  );
}
