/** Merges the servers of a pool as seen by all processes of the data plane: one row per server. */
import type { PoolMember } from "../../upstream/index.ts";

/** States by precedence: a process that cannot reach a server counts first, since its requests fail. */
const STATES: readonly PoolMember["state"][] = ["failing", "ok", "idle", "draining"];

/** Returns the servers in the order in which they first appear. */
export function mergedMembers(lists: readonly (readonly PoolMember[])[]): readonly PoolMember[] {
  const merged = new Map<string, PoolMember>();
  for (const member of lists.flat()) {
    const known = merged.get(member.endpoint);
    merged.set(member.endpoint, known === undefined ? member : mergedOf(known, member));
  }
  return [...merged.values()];
}

function mergedOf(one: PoolMember, other: PoolMember): PoolMember {
  const failures = [one.lastFailure, other.lastFailure].filter((it) => it !== undefined);
  const since = [one.failingSince, other.failingSince].filter((it) => it !== undefined);
  return {
    endpoint: one.endpoint,
    state: STATES.find((state) => one.state === state || other.state === state) ?? one.state,
    inFlight: one.inFlight + other.inFlight,
    attempts: one.attempts + other.attempts,
    failures: one.failures + other.failures,
    lastFailure: failures.sort((a, b) => b.at - a.at)[0],
    failingSince: since.length === 0 ? undefined : Math.min(...since),
    subsets: [...new Set([...one.subsets, ...other.subsets])].sort(),
  };
}
