/**
 * A leader's knowledge of one member's log, and how fast it sends to it.
 *
 * Source: cluster reference, sections 2.3 and 2.5; states as in etcd's raft. In StateProbe one append per heartbeat is sent
 * until the matching point of the follower's log is found; in StateReplicate appends are sent ahead of acknowledgements, as far
 * as the window allows; in StateSnapshot nothing is sent. Invariants: `match` never decreases within a term, `next > match`.
 */

import { addInflight, clearInflights, createInflights, freeUpTo, type Inflights, isFull } from "./inflights.ts";
import type { ProgressState, ProgressStatus } from "./types.ts";

export interface Progress {
  /** Highest index that is known to be durable on the member. */
  match: number;
  /** Index of the next entry to send. */
  next: number;
  /** Highest commit index sent. A higher one need not be sent if this one covers all entries that were sent. */
  sentCommit: number;
  state: ProgressState;
  /** Index of the snapshot that is being sent, in StateSnapshot. */
  pendingSnapshot: number;
  /** True if the member was heard from since the last quorum check. */
  recentActive: boolean;
  /** True if nothing is sent until an acknowledgement or a heartbeat response arrives. */
  isPaused: boolean;
  isLearner: boolean;
  readonly inflights: Inflights;
}

interface WindowLimits {
  readonly maxInflightMessages: number;
  readonly maxInflightBytes: number;
}

export function createProgress(next: number, isLearner: boolean, limits: WindowLimits): Progress {
  return {
    match: 0,
    next,
    sentCommit: 0,
    state: "StateProbe",
    pendingSnapshot: 0,
    recentActive: false,
    isPaused: false,
    isLearner,
    inflights: createInflights(limits.maxInflightMessages, limits.maxInflightBytes),
  };
}

export function isSendingPaused(progress: Progress): boolean {
  return progress.state === "StateSnapshot" || progress.isPaused;
}

function enter(progress: Progress, state: ProgressState): void {
  progress.state = state;
  progress.isPaused = false;
  progress.pendingSnapshot = 0;
  clearInflights(progress.inflights);
}

/** Resets the progress for a new term, in which nothing is known of the member. */
export function resetProgress(progress: Progress, match: number, next: number): void {
  enter(progress, "StateProbe");
  progress.match = match;
  progress.next = next;
  progress.sentCommit = 0;
  progress.recentActive = false;
}

function setNext(progress: Progress, next: number): void {
  progress.next = next;
  progress.sentCommit = Math.min(progress.sentCommit, next - 1);
}

export function becomeProbe(progress: Progress): void {
  // If the snapshot was installed, probing continues after it. Otherwise the probe is refused and the right index is searched
  // again.
  const after = Math.max(progress.match, progress.pendingSnapshot);
  enter(progress, "StateProbe");
  setNext(progress, after + 1);
}

export function becomeReplicate(progress: Progress): void {
  enter(progress, "StateReplicate");
  setNext(progress, progress.match + 1);
}

export function becomeSnapshot(progress: Progress, index: number): void {
  enter(progress, "StateSnapshot");
  progress.pendingSnapshot = index;
  progress.next = Math.max(progress.match, index) + 1;
  progress.sentCommit = index;
}

/** Takes an acknowledgement. Returns false if it contains nothing new. */
export function acknowledge(progress: Progress, index: number): boolean {
  if (index <= progress.match) return false;
  progress.match = index;
  progress.next = Math.max(progress.next, index + 1);
  progress.isPaused = false;
  return true;
}

/**
 * Takes a refusal of an append after `refused`; `hint` is the index up to which the logs may agree. Returns false if it is
 * outdated because a later acknowledgement or another probe overtook it.
 */
export function stepBack(progress: Progress, refused: number, hint: number): boolean {
  switch (progress.state) {
    case "StateSnapshot":
      return false;
    case "StateReplicate":
      if (refused <= progress.match) return false;
      becomeProbe(progress);
      return true;
    case "StateProbe":
      if (refused !== progress.next - 1) return false;
      setNext(progress, Math.max(Math.min(refused, hint + 1), progress.match + 1));
      progress.isPaused = false;
      return true;
    default:
      return progress.state satisfies never;
  }
}

/** Records a MsgApp that is being sent. */
export function sentAppend(progress: Progress, entries: number, bytes: number, commit: number): void {
  if (progress.state === "StateReplicate") {
    if (entries > 0) {
      progress.next += entries;
      addInflight(progress.inflights, progress.next - 1, bytes);
    }
    progress.isPaused = isFull(progress.inflights);
  } else {
    progress.isPaused = true;
  }
  progress.sentCommit = Math.max(progress.sentCommit, commit);
}

export function freeInflights(progress: Progress, index: number): void {
  freeUpTo(progress.inflights, index);
}

/** Returns whether sending `commit` can advance the follower's commit index, which cannot pass what was sent. */
export function canBumpCommit(progress: Progress, commit: number): boolean {
  return commit > progress.sentCommit && progress.sentCommit < progress.next - 1;
}

export function progressStatus(progress: Progress): ProgressStatus {
  return {
    match: progress.match,
    next: progress.next,
    state: progress.state,
    recentActive: progress.recentActive,
    isLearner: progress.isLearner,
    pendingSnapshot: progress.pendingSnapshot,
    inflightMessages: progress.inflights.messages.length,
    paused: isSendingPaused(progress),
  };
}
