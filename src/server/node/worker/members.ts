/** The servers of a pool as all processes of the data plane have met them: one row for each, whoever dialled it. */
import type { PoolMember } from "../../upstream/index.ts";

/** Whoever cannot reach it counts first: that one's requests are who is hurt. */
const STATES: readonly PoolMember["state"][] = ["failing", "ok", "idle", "draining"];

/** In the order in which they are met first. */
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
