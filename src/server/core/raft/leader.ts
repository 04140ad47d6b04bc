/**
 * Handles acknowledgements, reports and requests on a leader.
 *
 * Source: dissertation, 3.5, 3.10 (transfer), 4.2.2 and 6.4; cluster reference, 2.3, 2.5 and 2.6.
 */

import { encodeConfChange, isNodeId, MAX_CHANGES } from "./conf-change.ts";
import { applyChange, isJoint } from "./configuration-change.ts";
import { differingAt } from "./contents.ts";
import { type Core, send } from "./core.ts";
import {
  acknowledge,
  becomeProbe,
  becomeReplicate,
  canBumpCommit,
  freeInflights,
  type Progress,
  stepBack,
} from "./progress.ts";
import { findConflictByTerm, firstIndex, lastIndex, termAt } from "./raft-log.ts";
import { acknowledgeRound } from "./read-only.ts";
import {
  abortTransfer,
  advanceCommit,
  appendEntry,
  isEstablished,
  receiveRead,
  releaseReads,
  sendAllAppends,
  sendAppend,
} from "./replication.ts";
import type { ConfChange, EntryKind, Message, NodeId, ProposeOutcome } from "./types.ts";

export function stepLeader(core: Core, message: Message): void {
  const progress = core.progress.get(message.from);
  if (progress === undefined) return;
  switch (message.type) {
    case "MsgAppResp":
      progress.recentActive = true;
      if (message.reject) receiveRefusal(core, progress, message);
      else receiveAcknowledgement(core, progress, message);
      return;
    case "MsgHeartbeatResp":
      receiveHeartbeatResponse(core, progress, message);
      return;
    case "MsgReadIndex":
      if (message.context !== undefined) receiveRead(core, { from: message.from, context: message.context });
      return;
    default:
  }
}

function receiveRefusal(core: Core, progress: Progress, message: Message): void {
  const { from, index, hintIndex, hintTerm, commit, logTerm, context } = message;
  if (commit > 0) {
    // The append was refused because of an entry at or before that index.
    const { log } = core;
    const isShorter = commit > lastIndex(log) || (termAt(log, commit) ?? logTerm) !== logTerm;
    if (isShorter || differingAt(log, hintIndex, context) !== undefined) noteLoss(core, commit, from);
    return;
  }
  // The follower named the last entry of its log that may agree; this log may exclude more, a whole term at a time.
  const hint = hintTerm > 0 ? findConflictByTerm(core.log, hintIndex, hintTerm).index : hintIndex;
  if (stepBack(progress, index, hint)) sendAppend(core, from, progress, true);
}

function receiveAcknowledgement(core: Core, progress: Progress, { from, index, context }: Message): void {
  if (index > lastIndex(core.log) || differingAt(core.log, index, context) !== undefined) {
    // The member sent its commit index, and this log differs there.
    noteLoss(core, index, from);
    return;
  }
  const isNews = acknowledge(progress, index);
  // An answered probe proves that the logs agree there, even if it acknowledges nothing new.
  if (!isNews && !(index === progress.match && progress.state === "StateProbe")) return;
  switch (progress.state) {
    case "StateProbe":
      becomeReplicate(progress);
      break;
    case "StateSnapshot":
      // Replication only needs to be able to continue from the log, even at an index below the snapshot's.
      if (progress.match + 1 >= firstIndex(core.log)) becomeReplicate(progress);
      break;
    case "StateReplicate":
      freeInflights(progress, index);
      break;
    default:
      progress.state satisfies never;
  }
  const isCommitted = advanceCommit(core);
  // The committed entry may be the one after which this leader steps down.
  if (from === core.id || core.role !== "leader") return;
  if (!isCommitted && canBumpCommit(progress, core.log.committed)) sendAppend(core, from, progress, true);
  // The window has room again, possibly for more than one message.
  sendAllAppends(core, from, progress);
  handOverIfCaughtUp(core, from, progress);
}

function noteLoss(core: Core, index: number, heldBy: NodeId): void {
  if (core.loss === undefined || core.loss.heldBy === undefined) core.loss = { index, heldBy };
}

function receiveHeartbeatResponse(core: Core, progress: Progress, { from, context }: Message): void {
  progress.recentActive = true;
  progress.isPaused = false;
  if (progress.match < lastIndex(core.log) || progress.state === "StateProbe") sendAppend(core, from, progress, true);
  if (context !== undefined && acknowledgeRound(core.reads, from, context)) releaseReads(core);
}

function handOverIfCaughtUp(core: Core, to: NodeId, progress: Progress): void {
  if (to === core.leadTransferee && progress.match === lastIndex(core.log)) send(core, { type: "MsgTimeoutNow", to });
}

/** Starts a leadership transfer of at most one election timeout. A new target replaces that of an unfinished transfer. */
export function startTransfer(core: Core, to: NodeId): void {
  const progress = core.progress.get(to);
  if (core.role !== "leader" || progress === undefined || progress.isLearner || to === core.leadTransferee) return;
  if (core.leadTransferee !== undefined) abortTransfer(core);
  if (to === core.id) return;
  core.electionElapsed = 0;
  core.leadTransferee = to;
  if (progress.match === lastIndex(core.log)) handOverIfCaughtUp(core, to, progress);
  else sendAppend(core, to, progress, true);
}

export function propose(core: Core, kind: EntryKind, data: Uint8Array): ProposeOutcome {
  if (core.role !== "leader") return { kind: "not-leader", lead: core.lead };
  const isHandingOver = core.leadTransferee !== undefined || core.stepsDownAt !== undefined;
  if (isHandingOver) return { kind: "refused", reason: "transferring" };
  if (isBusy(core, data.byteLength)) return { kind: "refused", reason: "busy" };
  const { index, term } = appendEntry(core, kind, data);
  return { kind: "appended", index, term };
}

/** Returns true if too much is uncommitted. One entry of any size is accepted if nothing else is uncommitted. */
function isBusy(core: Core, bytes: number): boolean {
  const { maxUncommittedBytes, maxUncommittedEntries } = core.options;
  if (lastIndex(core.log) - core.log.committed >= maxUncommittedEntries) return true;
  return core.uncommittedBytes > 0 && core.uncommittedBytes + bytes > maxUncommittedBytes;
}

/**
 * Proposes a configuration change. It is appended only if no other is pending and an entry of this term is committed. Otherwise
 * two leaders could each change one server of the same base and end with quorums that do not overlap.
 */
export function proposeChange(core: Core, change: ConfChange): ProposeOutcome {
  if (core.role !== "leader") return { kind: "not-leader", lead: core.lead };
  const isLeave = change.changes.length === 0;
  if (change.changes.length > MAX_CHANGES || !change.changes.every(({ nodeId }) => isNodeId(nodeId))) {
    return { kind: "refused", reason: "invalid" };
  }
  if (!isEstablished(core)) return { kind: "refused", reason: "not-established" };
  if (core.pendingConfIndex > core.applying.applied) return { kind: "refused", reason: "change-pending" };
  if (isLeave && !isJoint(core.configuration)) return { kind: "refused", reason: "not-joint" };
  if (!isLeave && isJoint(core.configuration)) return { kind: "refused", reason: "change-pending" };
  if (applyChange(core.configuration, change).kind === "refused") return { kind: "refused", reason: "invalid" };
  const outcome = propose(core, "conf-change", encodeConfChange(change));
  if (outcome.kind === "appended") core.pendingConfIndex = outcome.index;
  return outcome;
}

export function reportUnreachable(core: Core, id: NodeId): void {
  const progress = core.progress.get(id);
  // Appends that were sent ahead are probably lost.
  if (core.role === "leader" && progress?.state === "StateReplicate" && id !== core.id) becomeProbe(progress);
}

/**
 * Continues after a snapshot. The next append waits for an acknowledgement or a heartbeat response, since the follower may need
 * time.
 */
export function reportSnapshot(core: Core, id: NodeId, isInstalled: boolean): void {
  const progress = core.progress.get(id);
  if (core.role !== "leader" || progress?.state !== "StateSnapshot") return;
  if (!isInstalled) progress.pendingSnapshot = 0;
  becomeProbe(progress);
  progress.isPaused = true;
}
