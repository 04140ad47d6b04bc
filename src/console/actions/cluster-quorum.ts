/**
 * Quorum arithmetic, also after members are removed, for the cluster view and for dialogs that refuse what the gateway would
 * refuse. Source: cluster reference, section 2.6 (membership), section 2.7 (recovery).
 *
 * A change of members is decided by the present voters, and later changes by the remaining ones: in both sets a majority must
 * be reachable. Members without a vote never count. Reachability is as the connected node sees it; another node may differ.
 */

import type { ClusterMemberRecord } from "../../admin-api/index.ts";
import { plural } from "../format/numbers.ts";

export type Member = Pick<ClusterMemberRecord, "id" | "voter" | "state">;

export interface Quorum {
  readonly voters: number;
  /** Number of voters that must agree. */
  readonly quorum: number;
  /** Number of voters that may be lost while the rest can still decide. */
  readonly tolerates: number;
  /** Number of voters that the connected node hears from. */
  readonly reachable: number;
  /** Whether the reachable voters can decide. */
  readonly isMet: boolean;
}

/**
 * Returns whether a member is reachable. One that receives a snapshot is; one that lost acknowledged entries does not take
 * part.
 */
export const isReachable = ({ state }: Pick<Member, "state">): boolean => state !== "silent" && state !== "forgot";

export function quorumOf(members: readonly Member[]): Quorum {
  const voters = members.filter(({ voter }) => voter);
  const quorum = Math.floor(voters.length / 2) + 1;
  const reachable = voters.filter(isReachable).length;
  return {
    voters: voters.length,
    quorum,
    tolerates: Math.max(0, voters.length - quorum),
    reachable,
    isMet: reachable >= quorum,
  };
}

/** Describes the quorum: `3 voters, quorum 2, tolerates the loss of 1`; silent voters reduce the tolerance. */
export function quorumText({ voters, quorum, tolerates, reachable, isMet }: Quorum): string {
  if (voters === 0) return "no voters";
  const text = `${plural(voters, "voter")}, quorum ${quorum}`;
  if (!isMet) return text;
  if (reachable === voters) return `${text}, tolerates ${tolerates === 0 ? "no loss" : `the loss of ${tolerates}`}`;
  const left = reachable - quorum;
  return `${text}, tolerates ${left === 0 ? "no further loss" : `the loss of ${left} more`}`;
}

/** Returns `LOSING EITHER NODE STOPS WRITES`; `undefined` while a voter may be lost. */
export function fragilityOf({ voters, tolerates }: Quorum): string | undefined {
  if (tolerates > 0 || voters === 0) return undefined;
  return voters === 1 ? "LOSING THIS ONE NODE STOPS WRITES" : "LOSING EITHER NODE STOPS WRITES";
}

export type Reduction =
  /** The reduction removes no member. */
  | { readonly kind: "nothing" }
  /** The change would be refused, or could never be decided. */
  | { readonly kind: "impossible"; readonly reason: string; readonly needsRecovery: boolean }
  | {
      readonly kind: "possible";
      readonly removed: readonly string[];
      readonly after: Quorum;
    };

/** Returns the consequences if only the members `keep` stay. */
export function reductionOf(members: readonly Member[], keep: readonly string[]): Reduction {
  const kept = members.filter(({ id }) => keep.includes(id));
  const removed = members.filter(({ id }) => !keep.includes(id)).map(({ id }) => id);
  const [before, after] = [quorumOf(members), quorumOf(kept)];
  if (members.length === 0) return refusedReduction("the members are not known yet");
  if (kept.length === 0) return refusedReduction("no member stays: tick at least one");
  if (removed.length === 0) return { kind: "nothing" };
  if (after.voters === 0) return refusedReduction("none of the members that stay has a vote");
  if (!before.isMet) {
    return {
      kind: "impossible",
      reason: `${before.reachable} of ${plural(before.voters, "voter")} reachable, quorum ${before.quorum}: no quorum, so this change would be refused too`,
      needsRecovery: true,
    };
  }
  if (!after.isMet) {
    return refusedReduction(
      `only ${after.reachable} of the ${plural(after.voters, "voter")} that would stay can be reached, quorum ${after.quorum}: nothing could be written any longer`,
    );
  }
  return { kind: "possible", removed, after };
}

function refusedReduction(reason: string): Reduction {
  return { kind: "impossible", reason, needsRecovery: false };
}
