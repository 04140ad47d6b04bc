/**
 * Waits until every authoritative server that can be reached answers with the records: an authority that asks earlier finds
 * nothing and counts a failed proof. Resolvers are not asked, since they cache that there was nothing.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { anySignal } from "../../../../base/index.ts";
import { AttemptFailed } from "../attempt-failed.ts";
import { hasRecord } from "./challenge-names.ts";
import type { DnsServer } from "./query-server.ts";

interface AwaitedRecord {
  readonly name: string;
  readonly value: string;
  readonly servers: readonly DnsServer[];
}

const CHECK_INTERVAL_MS = 2_000;
const TIMEOUT_MS = 120_000;

/**
 * Waits until all servers of the zone have the records. If none can be reached from here, the records count as published, since
 * the update was confirmed.
 */
export async function awaitRecords(
  records: readonly AwaitedRecord[],
  signal: AbortSignal,
  { everyMs = CHECK_INTERVAL_MS, limitMs = TIMEOUT_MS }: { readonly everyMs?: number; readonly limitMs?: number } = {},
): Promise<void> {
  const limit = AbortSignal.timeout(limitMs);
  for (const record of records) {
    for (;;) {
      const seen = await Promise.all(record.servers.map((server) => hasRecord(server, record, signal)));
      if (!seen.includes(false)) break;
      await sleep(everyMs, undefined, { signal: anySignal([signal, limit]) }).catch(() => signal.throwIfAborted());
      if (!limit.aborted) continue;
      const behind = record.servers.filter((_, at) => seen[at] === false).map(({ address }) => address);
      const message = `${record.name} is not at every name server of its zone after ${limitMs / 1_000} s; still without it: ${behind.join(", ")}`;
      throw new AttemptFailed("dns_propagation", message, { keepsOrder: true });
    }
  }
}
