/**
 * The end of the log that is not known to be durable: entries, or a snapshot that replaces the whole log.
 *
 * Entries below `inProgress` were handed out in a `Ready`. They stay here until their append is acknowledged, since they may be
 * overwritten meanwhile and must not be read from disk before they are there.
 */

import type { AppendAck, Entry, SnapshotMeta } from "./types.ts";

export interface Unstable {
  /** Index of `entries[0]`, even without entries; everything below is durable. */
  offset: number;
  entries: Entry[];
  /** Index of the first entry that was not handed out. */
  inProgress: number;
  snapshot: SnapshotMeta | undefined;
  isSnapshotInProgress: boolean;
}

export function createUnstable(offset: number): Unstable {
  return { offset, entries: [], inProgress: offset, snapshot: undefined, isSnapshotInProgress: false };
}

/**
 * Appends entries and replaces existing ones from the first new index on. `entries` is not empty and begins at most one above
 * the last index.
 */
export function truncateAndAppend(unstable: Unstable, entries: readonly Entry[]): void {
  const first = entries[0]!.index;
  const kept = first <= unstable.offset ? [] : unstable.entries.slice(0, first - unstable.offset);
  if (first === unstable.offset + unstable.entries.length) {
    for (const entry of entries) unstable.entries.push(entry);
    return;
  }
  unstable.offset = Math.min(unstable.offset, first);
  unstable.inProgress = Math.min(unstable.inProgress, first);
  unstable.entries = [...kept, ...entries];
}

export function replaceWithSnapshot(unstable: Unstable, snapshot: SnapshotMeta): void {
  unstable.offset = snapshot.index + 1;
  unstable.inProgress = snapshot.index + 1;
  unstable.entries = [];
  unstable.snapshot = snapshot;
  unstable.isSnapshotInProgress = false;
}

export function hasEntriesToHandOut(unstable: Unstable): boolean {
  return unstable.inProgress < unstable.offset + unstable.entries.length;
}

export function hasSnapshotToHandOut(unstable: Unstable): boolean {
  return unstable.snapshot !== undefined && !unstable.isSnapshotInProgress;
}

export function handOutEntries(unstable: Unstable): readonly Entry[] {
  const entries = unstable.entries.slice(unstable.inProgress - unstable.offset);
  unstable.inProgress += entries.length;
  return entries;
}

export function handOutSnapshot(unstable: Unstable): SnapshotMeta | undefined {
  if (!hasSnapshotToHandOut(unstable)) return undefined;
  unstable.isSnapshotInProgress = true;
  return unstable.snapshot;
}

/** Returns the acknowledgement of everything that was handed out and is not durable yet; it covers earlier ones. */
export function ackOf(unstable: Unstable, term: number): AppendAck {
  const last =
    unstable.inProgress > unstable.offset ? unstable.entries[unstable.inProgress - 1 - unstable.offset] : undefined;
  return {
    index: last?.index ?? 0,
    logTerm: last?.term ?? 0,
    term,
    snapshotIndex: unstable.isSnapshotInProgress ? (unstable.snapshot?.index ?? 0) : 0,
  };
}

/**
 * Handles the disk's acknowledgement of an append. It is ignored if it is of an earlier term, or if the entry was replaced since,
 * because the disk may then have the replacement. The acknowledgement of a later append covers the entry.
 */
export function acknowledgeAppend(unstable: Unstable, ack: AppendAck, term: number): void {
  if (unstable.isSnapshotInProgress && unstable.snapshot?.index === ack.snapshotIndex) {
    unstable.snapshot = undefined;
    unstable.isSnapshotInProgress = false;
  }
  if (ack.term !== term || ack.index < unstable.offset || ack.index >= unstable.inProgress) return;
  const position = ack.index - unstable.offset;
  if (unstable.entries[position]?.term !== ack.logTerm) return;
  unstable.entries = unstable.entries.slice(position + 1);
  unstable.offset = ack.index + 1;
}
