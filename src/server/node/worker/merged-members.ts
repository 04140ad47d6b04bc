/** Merges the servers of a pool as seen by all processes of the data plane: one row per server. */
import type { PoolMember } from "../../upstream/index.ts";

/** States by precedence: a process that cannot reach a server counts first, since its requests fail. */
const STATES: readonly PoolMember["state"][] = ["failing", "ok", "idle", "draining"];

/** Returns the servers in the order in which they first appear. */
export function mergedMembers(lists: readonly (readonly PoolMember[])[]): readonly PoolMember[] {
  const merged = new Map<string, PoolMember>();
  for (const member of lists.flat()) {
    const known = merged.get(member.endpoint);
    merged.set(member.endpoint, known === undefined ? member : mergeMember(known, member));
  }
  return [...merged.values()];
}

function mergeMember(first: PoolMember, second: PoolMember): PoolMember {
  const failures = [first.lastFailure, second.lastFailure].filter((it) => it !== undefined);
  const since = [first.failingSince, second.failingSince].filter((it) => it !== undefined);
  return {
    endpoint: first.endpoint,
    state: STATES.find((state) => first.state === state || second.state === state) ?? first.state,
    inFlight: first.inFlight + second.inFlight,
    attempts: first.attempts + second.attempts,
    failures: first.failures + second.failures,
    lastFailure: failures.sort((a, b) => b.at - a.at)[0],
    failingSince: since.length === 0 ? undefined : Math.min(...since),
    subsets: [...new Set([...first.subsets, ...second.subsets])].sort(),
  };
}
