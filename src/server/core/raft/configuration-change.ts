/**
 * Changes of the configuration: one voter at a time, or through a joint configuration.
 *
 * Source: dissertation, 4.1 and 4.3; rules as in etcd's confchange. Pure: takes a configuration, and returns another one or the
 * reason of the refusal. Every node computes the same result from the same entry, so a leader that has applied all earlier
 * changes knows before proposing whether a change will be refused. `brokenInvariant` checks the invariants of every
 * configuration.
 */

import type { ConfChange, Configuration, NodeId } from "./types.ts";

type ChangeOutcome =
  | { readonly kind: "changed"; readonly configuration: Configuration }
  | { readonly kind: "refused"; readonly reason: ChangeRefusal };

type ChangeRefusal = "already-joint" | "not-joint" | "no-voters" | "more-than-one-voter" | "invariant";

type SingleChange = ConfChange["changes"][number];

export const EMPTY_CONFIGURATION: Configuration = {
  voters: [],
  votersOutgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
};

export function isJoint(configuration: Configuration): boolean {
  return configuration.votersOutgoing.length > 0;
}

export function isVoter(configuration: Configuration, id: NodeId): boolean {
  return configuration.voters.includes(id) || configuration.votersOutgoing.includes(id);
}

/** Returns the voters of both lists and the learners, sorted, each once. */
export function membersOf(configuration: Configuration): readonly NodeId[] {
  const { voters, votersOutgoing, learners } = configuration;
  return sorted(new Set([...voters, ...votersOutgoing, ...learners]));
}

export function applyChange(configuration: Configuration, change: ConfChange): ChangeOutcome {
  if (change.changes.length === 0) return leaveJoint(configuration);
  if (change.transition !== "auto" || change.changes.length > 1) {
    return enterJoint(configuration, change.changes, change.transition !== "joint-explicit");
  }
  return changeSimply(configuration, change.changes);
}

/** Makes changes without a joint configuration; refuses if more than one voter is added or removed. */
export function changeSimply(configuration: Configuration, changes: readonly SingleChange[]): ChangeOutcome {
  if (isJoint(configuration)) return refused("already-joint");
  const draft = draftOf(configuration);
  for (const change of changes) make(draft, change);
  const before = new Set(configuration.voters);
  let moved = 0;
  for (const id of draft.voters) if (!before.has(id)) moved += 1;
  for (const id of before) if (!draft.voters.has(id)) moved += 1;
  if (moved > 1) return refused("more-than-one-voter");
  return finish(draft);
}

export function enterJoint(
  configuration: Configuration,
  changes: readonly SingleChange[],
  autoLeave: boolean,
): ChangeOutcome {
  if (isJoint(configuration)) return refused("already-joint");
  if (configuration.voters.length === 0) return refused("no-voters");
  const draft = draftOf(configuration);
  for (const id of configuration.voters) draft.votersOutgoing.add(id);
  draft.autoLeave = autoLeave;
  for (const change of changes) make(draft, change);
  return finish(draft);
}

export function leaveJoint(configuration: Configuration): ChangeOutcome {
  if (!isJoint(configuration)) return refused("not-joint");
  const draft = draftOf(configuration);
  for (const id of draft.learnersNext) draft.learners.add(id);
  draft.learnersNext.clear();
  draft.votersOutgoing.clear();
  draft.autoLeave = false;
  return finish(draft);
}

interface Draft {
  readonly voters: Set<NodeId>;
  readonly votersOutgoing: Set<NodeId>;
  readonly learners: Set<NodeId>;
  readonly learnersNext: Set<NodeId>;
  autoLeave: boolean;
}

function draftOf(configuration: Configuration): Draft {
  return {
    voters: new Set(configuration.voters),
    votersOutgoing: new Set(configuration.votersOutgoing),
    learners: new Set(configuration.learners),
    learnersNext: new Set(configuration.learnersNext),
    autoLeave: configuration.autoLeave,
  };
}

function make(draft: Draft, change: SingleChange): void {
  const { nodeId } = change;
  switch (change.type) {
    case "add-node":
      draft.learners.delete(nodeId);
      draft.learnersNext.delete(nodeId);
      draft.voters.add(nodeId);
      return;
    case "add-learner":
      draft.voters.delete(nodeId);
      // A learner that still votes in the outgoing list would be in both roles, so it becomes a learner when that list is
      // dropped.
      if (draft.votersOutgoing.has(nodeId)) draft.learnersNext.add(nodeId);
      else draft.learners.add(nodeId);
      return;
    case "remove-node":
      draft.voters.delete(nodeId);
      draft.learners.delete(nodeId);
      draft.learnersNext.delete(nodeId);
      return;
    default:
      change.type satisfies never;
  }
}

function finish(draft: Draft): ChangeOutcome {
  if (draft.voters.size === 0) return refused("no-voters");
  const configuration: Configuration = {
    voters: sorted(draft.voters),
    votersOutgoing: sorted(draft.votersOutgoing),
    learners: sorted(draft.learners),
    learnersNext: sorted(draft.learnersNext),
    autoLeave: draft.autoLeave,
  };
  if (brokenInvariant(configuration) !== undefined) return refused("invariant");
  return { kind: "changed", configuration };
}

/** Describes a broken invariant; `undefined` for a valid configuration. */
export function brokenInvariant(configuration: Configuration): string | undefined {
  const { voters, votersOutgoing, learners, learnersNext, autoLeave } = configuration;
  for (const list of [voters, votersOutgoing, learners, learnersNext]) {
    for (let i = 1; i < list.length; i += 1) {
      if (compareIds(list[i - 1]!, list[i]!) >= 0) return "a list is not sorted or names a node twice";
    }
  }
  if (learners.some((id) => isVoter(configuration, id))) return "a learner is a voter";
  if (learnersNext.some((id) => !votersOutgoing.includes(id))) return "a coming learner is not an outgoing voter";
  if (learnersNext.some((id) => voters.includes(id))) return "a coming learner is an incoming voter";
  if (!isJoint(configuration) && autoLeave) return "a configuration that is not joint cannot be left";
  return undefined;
}

function refused(reason: ChangeRefusal): ChangeOutcome {
  return { kind: "refused", reason };
}

function sorted(ids: Iterable<NodeId>): readonly NodeId[] {
  return [...ids].sort(compareIds);
}

/** Compares by code units or by number, so that the order is the same on every node, whatever its locale. */
function compareIds(a: NodeId, b: NodeId): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
