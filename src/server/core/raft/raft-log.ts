/**
 * Log as the algorithm sees it: the durable part, read through `LogReader`, and the part that is not durable yet.
 *
 * Source: dissertation, 3.5; cluster reference, section 2.3. Invariants: `committed` never decreases, committed entries are
 * never replaced.
 */

import type { Entry, LogReader, SnapshotMeta } from "./types.ts";
import { createUnstable, replaceWithSnapshot, truncateAndAppend, type Unstable } from "./unstable.ts";

export interface RaftLog {
  readonly storage: LogReader;
  readonly unstable: Unstable;
  committed: number;
}

export function createLog(storage: LogReader, committed: number): RaftLog {
  return { storage, unstable: createUnstable(storage.lastIndex() + 1), committed };
}

export function firstIndex({ storage, unstable }: RaftLog): number {
  return unstable.snapshot === undefined ? storage.firstIndex() : unstable.snapshot.index + 1;
}

export function lastIndex({ unstable }: RaftLog): number {
  return unstable.offset + unstable.entries.length - 1;
}

/** Returns the last index that is known to be durable here. */
export function durableIndex({ unstable }: RaftLog): number {
  return unstable.snapshot === undefined ? unstable.offset - 1 : 0;
}

/** Returns the term of an entry, also for `firstIndex - 1`. Returns `undefined` for compacted entries and beyond the end. */
export function termAt(log: RaftLog, index: number): number | undefined {
  const { storage, unstable } = log;
  if (index >= unstable.offset) return unstable.entries[index - unstable.offset]?.term;
  if (unstable.snapshot === undefined) return storage.term(index);
  return index === unstable.snapshot.index ? unstable.snapshot.term : undefined;
}

export function lastTerm(log: RaftLog): number {
  return termAt(log, lastIndex(log)) ?? 0;
}

export function hasEntry(log: RaftLog, index: number, term: number): boolean {
  return termAt(log, index) === term;
}

/**
 * Returns whether a log with this last entry contains everything that this log can have committed. Compares terms before
 * lengths.
 */
export function isUpToDate(log: RaftLog, index: number, term: number): boolean {
  const ownTerm = lastTerm(log);
  return term > ownTerm || (term === ownTerm && index >= lastIndex(log));
}

/** Returns the entries in [low, high), limited by the bytes of their data, but at least one if the range is not empty. */
export function entriesBetween(log: RaftLog, low: number, high: number, maxBytes: number): readonly Entry[] {
  if (low >= high) return [];
  const { offset, entries } = log.unstable;
  if (low >= offset) return cut(entries, low - offset, high - offset, maxBytes);
  const durableEnd = Math.min(high, offset);
  const durable = log.storage.entries(low, durableEnd, maxBytes);
  if (high <= offset || durable.length < durableEnd - low) return durable;
  const left = maxBytes - sizeOf(durable);
  if (left < entries[0]!.data.byteLength) return durable;
  return [...durable, ...cut(entries, 0, high - offset, left)];
}

function cut(entries: readonly Entry[], from: number, to: number, maxBytes: number): readonly Entry[] {
  let bytes = entries[from]?.data.byteLength ?? 0;
  let end = from + 1;
  for (; end < to; end += 1) {
    bytes += entries[end]!.data.byteLength;
    if (bytes > maxBytes) break;
  }
  return entries.slice(from, end);
}

export function sizeOf(entries: readonly Entry[]): number {
  let bytes = 0;
  for (const entry of entries) bytes += entry.data.byteLength;
  return bytes;
}

/**
 * Appends a leader's entries after (`index`, `term`), which is not before the commit index. Returns the last index that agrees
 * with the leader, or `undefined` if the log has no such entry. Only an entry of another term truncates: a repeated or late
 * message names existing entries and leaves the log unchanged.
 */
export function appendAfter(log: RaftLog, index: number, term: number, entries: readonly Entry[]): number | undefined {
  if (!hasEntry(log, index, term)) return undefined;
  const fresh = entries.findIndex((entry) => !hasEntry(log, entry.index, entry.term));
  if (fresh !== -1) truncateAndAppend(log.unstable, entries.slice(fresh));
  return index + entries.length;
}

/** Appends a leader's own entries, which follow the last entry. */
export function appendOwn(log: RaftLog, entries: readonly Entry[]): void {
  truncateAndAppend(log.unstable, entries);
}

/** Advances the commit index; returns false if it does not. An index beyond the end is an error of the sender and is ignored. */
export function commitTo(log: RaftLog, index: number): boolean {
  if (index <= log.committed || index > lastIndex(log)) return false;
  log.committed = index;
  return true;
}

/**
 * Returns the greatest index up to `index` whose term is not above `term`: the logs may still agree there, so one probe per term
 * is enough. Terms do not decrease along a log, so this is a binary search. The returned term is 0 if the log does not reach the
 * index.
 */
export function findConflictByTerm(
  log: RaftLog,
  index: number,
  term: number,
): { readonly index: number; readonly term: number } {
  if (index > lastIndex(log)) return { index, term: 0 };
  let low = firstIndex(log) - 1;
  if (index < low) return { index, term: 0 };
  const lowest = termAt(log, low) ?? 0;
  if (lowest > term) return { index: Math.max(low - 1, 0), term: 0 };
  let found = lowest;
  let high = index;
  while (low < high) {
    const middle = low + Math.ceil((high - low) / 2);
    const at = termAt(log, middle) ?? 0;
    if (at <= term) {
      low = middle;
      found = at;
    } else {
      high = middle - 1;
    }
  }
  return { index: low, term: found };
}

/** Replaces the whole log by a snapshot that must then be installed. */
export function restore(log: RaftLog, snapshot: SnapshotMeta): void {
  log.committed = snapshot.index;
  replaceWithSnapshot(log.unstable, snapshot);
}

export function snapshotToSend({ storage, unstable }: RaftLog): SnapshotMeta {
  return unstable.snapshot ?? storage.snapshot();
}
