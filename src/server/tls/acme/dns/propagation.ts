/**
 * Waits until every authoritative server that can be reached answers with the records: an authority that asks earlier finds
 * nothing and counts a failed proof. Resolvers are not asked, since they cache that there was nothing.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { anySignal } from "../../../../base/index.ts";
import { AttemptFailed } from "../attempt-failed.ts";
import type { DnsServer } from "./ask-dns.ts";
import { holds } from "./challenge-names.ts";

interface Awaited {
  readonly name: string;
  readonly value: string;
  readonly servers: readonly DnsServer[];
}

const EVERY_MS = 2_000;
const LIMIT_MS = 120_000;

/**
 * Waits until all servers of the zone have the records. If none can be reached from here, the records count as published, since
 * the update was confirmed.
 */
export async function awaitRecords(
  records: readonly Awaited[],
  signal: AbortSignal,
  { everyMs = EVERY_MS, limitMs = LIMIT_MS }: { readonly everyMs?: number; readonly limitMs?: number } = {},
): Promise<void> {
  const limit = AbortSignal.timeout(limitMs);
  for (const record of records) {
    for (;;) {
      const seen = await Promise.all(record.servers.map((server) => holds(server, record, signal)));
      if (!seen.includes(false)) break;
      await sleep(everyMs, undefined, { signal: anySignal([signal, limit]) }).catch(() => signal.throwIfAborted());
      if (!limit.aborted) continue;
      const behind = record.servers.filter((_, at) => seen[at] === false).map(({ address }) => address);
      const words = `${record.name} is not at every name server of its zone after ${limitMs / 1_000} s; still without it: ${behind.join(", ")}`;
      throw new AttemptFailed("dns_propagation", words, { keepsOrder: true });
    }
  }
}
