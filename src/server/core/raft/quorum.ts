/**
 * Majorities, and majorities of both lists while a configuration is joint.
 *
 * Source: dissertation, 4.3. An empty list agrees with everything: a configuration that is not joint has an empty outgoing list,
 * so its incoming list decides alone.
 */

import type { Configuration, NodeId } from "./types.ts";

type VoteResult = "won" | "lost" | "pending";

/**
 * Returns the greatest index that a majority of `voters` has reached. Counts instead of sorting, since there are few voters and
 * this allocates nothing for each acknowledgement.
 */
export function majorityIndex(voters: readonly NodeId[], indexOf: (id: NodeId) => number): number {
  if (voters.length === 0) return Number.POSITIVE_INFINITY;
  const quorum = Math.floor(voters.length / 2) + 1;
  let greatest = 0;
  for (const candidate of voters) {
    const index = indexOf(candidate);
    if (index <= greatest) continue;
    let reached = 0;
    for (const voter of voters) if (indexOf(voter) >= index) reached += 1;
    if (reached >= quorum) greatest = index;
  }
  return greatest;
}

export function quorumIndex(configuration: Configuration, indexOf: (id: NodeId) => number): number {
  return Math.min(majorityIndex(configuration.voters, indexOf), majorityIndex(configuration.votersOutgoing, indexOf));
}

/** Returns the result of a vote. `voteOf` returns `undefined` for a voter that has not answered. */
export function majorityVote(voters: readonly NodeId[], voteOf: (id: NodeId) => boolean | undefined): VoteResult {
  if (voters.length === 0) return "won";
  const quorum = Math.floor(voters.length / 2) + 1;
  let granted = 0;
  let missing = 0;
  for (const voter of voters) {
    const vote = voteOf(voter);
    if (vote === undefined) missing += 1;
    else if (vote) granted += 1;
  }
  if (granted >= quorum) return "won";
  return granted + missing >= quorum ? "pending" : "lost";
}

export function quorumVote(configuration: Configuration, voteOf: (id: NodeId) => boolean | undefined): VoteResult {
  const incoming = majorityVote(configuration.voters, voteOf);
  const outgoing = majorityVote(configuration.votersOutgoing, voteOf);
  if (incoming === outgoing) return incoming;
  return incoming === "lost" || outgoing === "lost" ? "lost" : "pending";
}
