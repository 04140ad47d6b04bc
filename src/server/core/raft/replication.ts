/**
 * Replication on a leader: appends, heartbeats, snapshots, the commit index and confirmed reads.
 *
 * Source: dissertation, 3.5, 3.6 and 6.4; cluster reference, 2.3 and 2.5.
 */

import { encodeConfChange, LEAVE_JOINT } from "./conf-change.ts";
import { isJoint } from "./configuration-change.ts";
import { contentsUpTo } from "./contents.ts";
import { becomeFollower, type Core, send } from "./core.ts";
import { isFull } from "./inflights.ts";
import { becomeSnapshot, canBumpCommit, isSendingPaused, type Progress, sentAppend } from "./progress.ts";
import { quorumIndex, quorumVote } from "./quorum.ts";
import {
  appendOwn,
  commitTo,
  entriesBetween,
  firstIndex,
  hasEntry,
  lastIndex,
  sizeOf,
  snapshotToSend,
  termAt,
} from "./raft-log.ts";
import { makeMessage } from "./raft-messages.ts";
import { addRead, holdRead, type PendingRead, type Read, startRound, takeConfirmed } from "./read-only.ts";
import type { Entry, EntryKind, NodeId } from "./types.ts";

/** Appends a leader's own entry. It counts for the quorum once it is durable here. */
export function appendEntry(core: Core, kind: EntryKind, data: Uint8Array): Entry {
  const entry: Entry = { index: lastIndex(core.log) + 1, term: core.term, kind, data };
  appendOwn(core.log, [entry]);
  core.uncommittedBytes += data.byteLength;
  core.isBroadcastDue = true;
  acknowledgeOwn(core, entry.index);
  return entry;
}

/**
 * Queues an acknowledgement to this node itself for when the entry is durable. One message covers all entries of the same
 * `Ready`.
 */
function acknowledgeOwn(core: Core, index: number): void {
  const waiting = core.messagesAfterAppend;
  const last = waiting.at(-1);
  const isSame = last?.type === "MsgAppResp" && last.to === core.id && last.term === core.term;
  if (isSame) waiting.pop();
  waiting.push(makeMessage({ type: "MsgAppResp", from: core.id, to: core.id, term: core.term, index }));
}

/**
 * Sends the next entries, or the snapshot that replaces them. Returns false if nothing was sent. With a full window only empty
 * appends are sent: if everything in it was lost, the follower's refusal of one restarts replication.
 */
export function sendAppend(core: Core, to: NodeId, progress: Progress, isEmptySent: boolean): boolean {
  if (isSendingPaused(progress)) return false;
  const { log, options } = core;
  const index = progress.next - 1;
  const logTerm = termAt(log, index);
  if (logTerm === undefined || progress.next < firstIndex(log)) return sendSnapshot(core, to, progress);
  const isWindowFull = progress.state === "StateReplicate" && isFull(progress.inflights);
  const entries = isWindowFull ? [] : entriesBetween(log, progress.next, lastIndex(log) + 1, options.maxMessageBytes);
  if (entries.length === 0 && !isEmptySent) return false;
  // Digests are needed only while probing: once the member has agreed, all later entries come from this leader.
  const context = progress.state === "StateProbe" ? contentsUpTo(log, index) : undefined;
  send(core, { type: "MsgApp", to, index, logTerm, entries, commit: log.committed, context });
  sentAppend(progress, entries.length, sizeOf(entries), log.committed);
  return true;
}

function sendSnapshot(core: Core, to: NodeId, progress: Progress): boolean {
  // A snapshot is costly; without this check, one would be sent again and again to a member that never answers.
  if (!progress.recentActive) return false;
  const snapshot = snapshotToSend(core.log);
  becomeSnapshot(progress, snapshot.index);
  send(core, { type: "MsgSnap", to, snapshot });
  return true;
}

export function sendAllAppends(core: Core, to: NodeId, progress: Progress): void {
  while (sendAppend(core, to, progress, false));
}

/** Sends what was collected since the last `Ready`: appends, commit indexes and the heartbeat round of new reads. */
export function flush(core: Core): void {
  if (core.role !== "leader") return;
  if (core.reads.isRoundDue) broadcastHeartbeat(core);
  if (!core.isBroadcastDue) return;
  core.isBroadcastDue = false;
  for (const [id, progress] of core.progress) {
    if (id === core.id) continue;
    if (sendAppend(core, id, progress, canBumpCommit(progress, core.log.committed))) sendAllAppends(core, id, progress);
  }
}

export function broadcastHeartbeat(core: Core): void {
  const context = startRound(core.reads);
  for (const [id, progress] of core.progress) {
    if (id === core.id) continue;
    // The commit index never exceeds what the member is known to have: the rest of its log may differ from the leader's.
    const commit = Math.min(progress.match, core.log.committed);
    send(core, {
      type: "MsgHeartbeat",
      to: id,
      commit,
      context,
      reject: core.loss !== undefined,
      hintIndex: core.loss?.index ?? 0,
    });
    progress.sentCommit = Math.max(progress.sentCommit, commit);
  }
}

/**
 * Commits the entries that a quorum has, provided that the last one is of this term: older entries are committed only together
 * with an entry of this term.
 */
export function advanceCommit(core: Core): boolean {
  const index = quorumIndex(core.configuration, core.matchOf);
  if (index <= core.log.committed || !hasEntry(core.log, index, core.term)) return false;
  if (!commitTo(core.log, index)) return false;
  core.isBroadcastDue = true;
  for (const read of core.reads.unestablished) addRead(core.reads, read, core.log.committed);
  core.reads.unestablished.length = 0;
  releaseReads(core);
  if (core.stepsDownAt !== undefined && core.log.committed >= core.stepsDownAt) {
    flush(core);
    becomeFollower(core, core.term, undefined);
  }
  return true;
}

export function isEstablished(core: Core): boolean {
  return core.role === "leader" && termAt(core.log, core.log.committed) === core.term;
}

export function receiveRead(core: Core, read: Read): void {
  if (!isEstablished(core)) {
    holdRead(core.reads, read);
    return;
  }
  addRead(core.reads, read, core.log.committed);
  releaseReads(core);
}

/** Answers confirmed reads. A single voter is a quorum and confirms at once. */
export function releaseReads(core: Core): void {
  if (core.reads.pending.size === 0) return;
  const { acks } = core.reads;
  const round = quorumIndex(core.configuration, (id) =>
    id === core.id ? Number.POSITIVE_INFINITY : (acks.get(id) ?? 0),
  );
  for (const read of takeConfirmed(core.reads, round)) answerRead(core, read);
}

function answerRead(core: Core, { from, context, index }: PendingRead): void {
  if (from === core.id) core.readStates.push({ index, context });
  else send(core, { type: "MsgReadIndexResp", to: from, term: 0, index, context });
}

/** Returns whether a quorum was heard from since the last check, and resets what was heard. */
export function checkQuorum(core: Core): boolean {
  const result = quorumVote(core.configuration, (id) => id === core.id || core.progress.get(id)?.recentActive === true);
  for (const [id, progress] of core.progress) progress.recentActive = id === core.id;
  return result === "won";
}

/** Leaves a joint configuration with `autoLeave`, once it is applied and this leader may propose changes. */
export function leaveJointIfDue(core: Core): void {
  if (!isJoint(core.configuration) || !core.configuration.autoLeave) return;
  if (!isEstablished(core) || core.leadTransferee !== undefined) return;
  if (core.applying.applied < core.pendingConfIndex) return;
  core.pendingConfIndex = appendEntry(core, "conf-change", encodeConfChange(LEAVE_JOINT)).index;
}

export function abortTransfer(core: Core): void {
  core.leadTransferee = undefined;
  leaveJointIfDue(core);
}
