/**
 * A leader's view of one member's log, and how eagerly it sends to it.
 *
 * Source: cluster reference, sections 2.3 and 2.5; states as in etcd's raft. In StateProbe one append leaves for each
 * heartbeat until the follower's log is located; in StateReplicate appends are sent ahead of acknowledgements, as far
 * as the window allows; in StateSnapshot nothing is sent. Invariants: `match` never falls within a term, `next > match`.
 */

import { addInflight, clearInflights, createInflights, freeUpTo, type Inflights, isFull } from "./inflights.ts";
import type { ProgressState, ProgressStatus } from "./types.ts";

export interface Progress {
  /** Known to be durable there. */
  match: number;
  /** Index of the next entry to send. */
  next: number;
  /** The highest commit index sent; nothing above it needs telling as long as it covers all that was sent. */
  sentCommit: number;
  state: ProgressState;
  /** Index of the snapshot under way, in StateSnapshot. */
  pendingSnapshot: number;
  /** Heard from since the last check of the quorum. */
  recentActive: boolean;
  /** Sends nothing more until an acknowledgement or a heartbeat's response arrives. */
  isPaused: boolean;
  isLearner: boolean;
  readonly inflights: Inflights;
}

export interface WindowLimits {
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

/** Resets for a new term, in which nothing is known of the member. */
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
  // If the snapshot was installed, probing continues after it; otherwise the probe is refused and the right index is found
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

/** Takes an acknowledgement. Returns false if it brings nothing new. */
export function acknowledge(progress: Progress, index: number): boolean {
  if (index <= progress.match) return false;
  progress.match = index;
  progress.next = Math.max(progress.next, index + 1);
  progress.isPaused = false;
  return true;
}

/**
 * Takes a refusal of an append after `refused`; `hint` is where the logs may agree. False when it is out of date: a
 * later acknowledgement, or another probe, overtook it.
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

/** Records a MsgApp that leaves now. */
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

/** Whether telling `commit` can move the follower's commit index; it cannot pass what was sent. */
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
