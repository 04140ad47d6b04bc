/** Metrics of pools. Labels come from the configuration and never contain a server's address. */
import type { Instruments } from "../../../base/index.ts";

/**
 * Reason why an address is blocked. `own`: a listener of this gateway. `rebound`: loopback for a name that resolved elsewhere
 * before. `fenced`: a blocked address.
 */
export type BlockedReason = "own" | "rebound" | "fenced";

export interface PoolMetrics {
  /** Sets the number of members. `subset`: empty for the whole pool. */
  setMembers(provider: string, subset: string, count: number): void;
  countLookup(provider: string, subset: string, outcome: "answered" | "failed"): void;
  countBlocked(provider: string, reason: BlockedReason, count: number): void;
  countConnectFailure(provider: string): void;
}

export function createPoolMetrics(instruments: Instruments): PoolMetrics {
  const members = instruments.gauge(
    "gateway_pool_members",
    "Servers that the name of a pool or subset resolves to.",
    ["provider", "subset"],
    "farthest",
  );
  const lookups = instruments.counter(
    "gateway_pool_lookups_total",
    "DNS lookups of the servers of a pool, by outcome.",
    ["provider", "subset", "outcome"],
  );
  const blocked = instruments.counter(
    "gateway_pool_fenced_addresses_total",
    "Addresses in DNS answers for a pool that the gateway never connects to, such as link-local ones.",
    ["provider", "why"],
  );
  const unreachable = instruments.counter(
    "gateway_pool_connect_failures_total",
    "Failed connections to servers of a pool. The attempt continued with the next server.",
    ["provider"],
  );
  return {
    setMembers: (provider, subset, count) => members.with(provider, subset).set(count),
    countLookup: (provider, subset, outcome) => lookups.with(provider, subset, outcome).inc(),
    countBlocked: (provider, reason, count) => blocked.with(provider, reason).inc(count),
    countConnectFailure: (provider) => unreachable.with(provider).inc(),
  };
}
