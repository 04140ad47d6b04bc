/** Majorities and legal configuration steps, reimplemented here so that they do not share mistakes with the core. */

import type { Configuration, NodeId } from "../../src/server/core/raft/index.ts";

/**
 * Whether the members that pass `test` form a quorum: a majority of the voters, in a joint configuration of both lists.
 */
export function hasQuorum({ voters, votersOutgoing }: Configuration, test: (id: NodeId) => boolean): boolean {
  const isMajority = (ids: readonly NodeId[]): boolean => ids.filter(test).length * 2 > ids.length;
  return isMajority(voters) && (votersOutgoing.length === 0 || isMajority(votersOutgoing));
}

export function membersOf(configuration: Configuration): readonly NodeId[] {
  const { voters, votersOutgoing, learners, learnersNext } = configuration;
  return [...new Set([...voters, ...votersOutgoing, ...learners, ...learnersNext])];
}

export function isVoter({ voters, votersOutgoing }: Configuration, id: NodeId): boolean {
  return voters.includes(id) || votersOutgoing.includes(id);
}

/** Whether every two quorums of the two configurations share a voter, judged by the kind of step. */
export function isLegalStep(from: Configuration, to: Configuration): boolean {
  if (to.voters.length === 0) return false;
  if (new Set([...to.voters, ...to.learners]).size !== to.voters.length + to.learners.length) return false;
  const isFromJoint = from.votersOutgoing.length > 0;
  const isToJoint = to.votersOutgoing.length > 0;
  if (isFromJoint && isToJoint)
    return isSameSet(from.votersOutgoing, to.votersOutgoing) && isSameSet(from.voters, to.voters);
  // Only the outgoing voters are dropped.
  if (isFromJoint)
    return isSameSet(from.voters, to.voters) && isSameSet([...from.learners, ...from.learnersNext], to.learners);
  if (isToJoint) return isSameSet(from.voters, to.votersOutgoing);
  return differing(from.voters, to.voters) <= 1;
}

export function isSameConfiguration(a: Configuration, b: Configuration): boolean {
  return (
    isSameSet(a.voters, b.voters) &&
    isSameSet(a.votersOutgoing, b.votersOutgoing) &&
    isSameSet(a.learners, b.learners) &&
    isSameSet(a.learnersNext, b.learnersNext) &&
    a.autoLeave === b.autoLeave
  );
}

function differing(a: readonly NodeId[], b: readonly NodeId[]): number {
  return a.filter((id) => !b.includes(id)).length + b.filter((id) => !a.includes(id)).length;
}

function isSameSet(a: readonly NodeId[], b: readonly NodeId[]): boolean {
  return a.length === b.length && differing(a, b) === 0;
}

export function configurationText({ voters, votersOutgoing, learners, learnersNext }: Configuration): string {
  const parts = [`voters=${voters.join()}`];
  if (votersOutgoing.length > 0) parts.push(`outgoing=${votersOutgoing.join()}`);
  if (learners.length > 0) parts.push(`learners=${learners.join()}`);
  if (learnersNext.length > 0) parts.push(`next=${learnersNext.join()}`);
  return parts.join(" ");
}
