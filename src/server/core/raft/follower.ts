/**
 * Handles messages of the leader on a follower; candidates become followers first.
 *
 * Source: dissertation, 3.5 and 5.1; cluster reference, 2.3.
 */

import { skipToSnapshot } from "./applying.ts";
import { contentsUpTo, differingAt, holdsOther } from "./contents.ts";
import { type Core, send } from "./core.ts";
import { campaignIfAllowed } from "./election.ts";
import { appendAfter, commitTo, findConflictByTerm, hasEntry, lastIndex, restore, termAt } from "./raft-log.ts";
import type { Message, SnapshotMeta } from "./types.ts";

/** Processes a message as a follower. */
export function stepFollower(core: Core, message: Message): void {
  switch (message.type) {
    case "MsgApp":
      hearLeader(core, message);
      receiveAppend(core, message);
      return;
    case "MsgHeartbeat":
      hearLeader(core, message);
      hearOfLoss(core, message);
      commitTo(core.log, message.commit);
      send(core, { type: "MsgHeartbeatResp", to: message.from, context: message.context });
      return;
    case "MsgSnap":
      hearLeader(core, message);
      if (message.snapshot !== undefined) receiveSnapshot(core, message, message.snapshot);
      return;
    case "MsgTimeoutNow":
      // The leader itself requests this election, so it disturbs no leader and needs no pre-vote.
      campaignIfAllowed(core, "transfer");
      return;
    case "MsgReadIndexResp":
      if (message.context !== undefined) core.readStates.push({ index: message.index, context: message.context });
      return;
    default:
  }
}

function hearLeader(core: Core, { from }: Message): void {
  core.electionElapsed = 0;
  core.lead = from;
}

/** Takes over the leader's report of a loss. A loss that this node detected itself stays reported, whatever the leader knows. */
function hearOfLoss(core: Core, { reject, hintIndex }: Message): void {
  if (core.loss?.heldBy === core.id) return;
  if (!reject) core.loss = undefined;
  else if (core.loss?.index !== hintIndex) core.loss = { index: hintIndex, heldBy: undefined };
}

/**
 * Returns an index at which the logs contradict each other: the leader's entry differs from a committed entry here, or from one
 * with the same term. Returns `undefined` if none is found.
 */
function contradictedAt({ log }: Core, { index, logTerm, entries, context }: Message): number | undefined {
  const isOther = (at: number, term: number): boolean => at <= log.committed && (termAt(log, at) ?? term) !== term;
  if (isOther(index, logTerm)) return index;
  const other = entries.find((entry) => isOther(entry.index, entry.term) || holdsOther(log, entry));
  return other?.index ?? (hasEntry(log, index, logTerm) ? differingAt(log, index, context) : undefined);
}

function refuseContradiction(core: Core, { from, index }: Message, at: number): void {
  const { log } = core;
  const held = Math.max(log.committed, at);
  core.loss = { index: held, heldBy: core.id };
  send(core, {
    type: "MsgAppResp",
    to: from,
    index,
    reject: true,
    commit: held,
    logTerm: termAt(log, held) ?? 0,
    hintIndex: at,
    context: contentsUpTo(log, at),
  });
}

function receiveAppend(core: Core, message: Message): void {
  const { from, index, logTerm, commit, entries } = message;
  const { log } = core;
  const contradicted = contradictedAt(core, message);
  if (contradicted !== undefined) {
    // Nothing is accepted or acknowledged: once the logs are equally long, an index alone would look like agreement.
    refuseContradiction(core, message, contradicted);
    return;
  }
  if (index < log.committed) {
    // The message is outdated, or the leader does not know this node's progress.
    const { committed } = log;
    send(core, { type: "MsgAppResp", to: from, index: committed, context: contentsUpTo(log, committed) });
    return;
  }
  const agreed = appendAfter(log, index, logTerm, entries);
  if (agreed === undefined) {
    const hint = findConflictByTerm(log, Math.min(index, lastIndex(log)), logTerm);
    send(core, { type: "MsgAppResp", to: from, index, reject: true, hintIndex: hint.index, hintTerm: hint.term });
    return;
  }
  // The commit index advances only to the last index that this message covers: later entries in this log may be from another
  // leader.
  commitTo(log, Math.min(commit, agreed));
  send(core, { type: "MsgAppResp", to: from, index: agreed });
}

function receiveSnapshot(core: Core, { from }: Message, snapshot: SnapshotMeta): void {
  const isTaken = takeSnapshot(core, snapshot);
  send(core, { type: "MsgAppResp", to: from, index: isTaken ? lastIndex(core.log) : core.log.committed });
}

/**
 * Returns true if the snapshot should be installed. A node that is not in the snapshot's configuration accepts it too: a new
 * learner's first snapshot may be older than the change that added it.
 */
function takeSnapshot(core: Core, snapshot: SnapshotMeta): boolean {
  const { log } = core;
  if (snapshot.index <= log.committed) return false;
  if (hasEntry(log, snapshot.index, snapshot.term)) {
    // The log already contains everything; only the commit index was unknown.
    commitTo(log, snapshot.index);
    return false;
  }
  restore(log, snapshot);
  skipToSnapshot(core.applying, snapshot.index);
  core.restoring = snapshot;
  return true;
}
