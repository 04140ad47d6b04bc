/** Records granted votes from the messages that voters sent: the basis of every election. */

import type { Configuration, NodeId } from "../../src/server/core/raft/index.ts";
import { hasQuorum } from "./quorum.ts";

interface Ballots {
  granted(term: number, candidate: NodeId, voter: NodeId): void;
  /** Checks that a candidate may lead `term` under one of `configurations`. Its own vote needs no message. */
  elect(term: number, candidate: NodeId, configurations: readonly Configuration[]): boolean;
}

export function createBallots(): Ballots {
  const votes = new Map<string, Set<string>>();
  return {
    granted(term, candidate, voter) {
      const key = `${term} ${candidate}`;
      const voters = votes.get(key) ?? new Set([String(candidate)]);
      votes.set(key, voters.add(String(voter)));
    },
    elect(term, candidate, configurations) {
      const voters = votes.get(`${term} ${candidate}`) ?? new Set([String(candidate)]);
      return configurations.some((configuration) => hasQuorum(configuration, (id) => voters.has(String(id))));
    },
  };
}
