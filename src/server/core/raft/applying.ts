/**
 * Delivers committed entries to the state machine, in order and in batches of limited size.
 *
 * Only durable entries are delivered: a state machine that ran ahead of its own log could not restart from it.
 */

import { durableIndex, entriesBetween, firstIndex, type RaftLog, sizeOf } from "./raft-log.ts";
import type { Entry } from "./types.ts";

export interface Applying {
  readonly maxBytes: number;
  applied: number;
  /** Index of the last delivered entry. */
  handedOut: number;
  /** Batches that were delivered and not acknowledged. */
  readonly batches: { readonly lastIndex: number; readonly bytes: number }[];
  bytes: number;
  /** True if the size limit cut the last batch: the next one waits for an acknowledgement instead of filling small gaps. */
  isPaused: boolean;
}

export function createApplying(applied: number, maxBytes: number): Applying {
  return { maxBytes, applied, handedOut: applied, batches: [], bytes: 0, isPaused: false };
}

export function hasEntriesToApply(applying: Applying, log: RaftLog): boolean {
  return (
    applying.handedOut < Math.min(log.committed, durableIndex(log)) &&
    !applying.isPaused &&
    applying.bytes < applying.maxBytes &&
    // This is false after a snapshot was installed in the log, until the state machine has confirmed it.
    applying.applied >= firstIndex(log) - 1
  );
}

export function handOutCommitted(applying: Applying, log: RaftLog): readonly Entry[] {
  if (!hasEntriesToApply(applying, log)) return [];
  const end = Math.min(log.committed, durableIndex(log)) + 1;
  const entries = entriesBetween(log, applying.handedOut + 1, end, applying.maxBytes - applying.bytes);
  const bytes = sizeOf(entries);
  applying.handedOut += entries.length;
  applying.isPaused = applying.handedOut + 1 < end;
  applying.batches.push({ lastIndex: applying.handedOut, bytes });
  applying.bytes += bytes;
  return entries;
}

/** Skips everything up to the snapshot. */
export function skipToSnapshot(applying: Applying, index: number): void {
  applying.handedOut = Math.max(applying.handedOut, index);
}

export function acknowledgeApply(applying: Applying, index: number): void {
  applying.applied = Math.max(applying.applied, index);
  let done = 0;
  for (const batch of applying.batches) {
    if (batch.lastIndex > index) break;
    applying.bytes -= batch.bytes;
    done += 1;
  }
  if (done === 0) return;
  applying.batches.splice(0, done);
  applying.isPaused = false;
}
