/**
 * Reads the whole log database at the start and refuses it unless it is exactly what was written: every record matches its
 * checksum, entries are contiguous between the stated bounds, each continues the chain, terms never decrease, and hard state and
 * snapshot agree with them. A bad entry is never dropped to continue without it: a node that forgets acknowledged entries can be
 * elected and erase committed data (Alagappan et al., FAST '18).
 */

import type { HardState } from "../../core/raft/index.ts";
import type { Level } from "./database.ts";
import { createLogIndex, type LogIndex } from "./log-index.ts";
import {
  BadRecord,
  chainAfter,
  decodeEntry,
  decodeGeneration,
  decodeHardState,
  decodeSnapshotRecord,
  decodeTail,
  entryKey,
  indexOfKey,
  origin,
  type Position,
  RECORD_OVERHEAD_BYTES,
  type Tail,
} from "./log-records.ts";
import type { SnapshotRecord } from "./types.ts";

export interface LoadedLog {
  readonly tail: Tail;
  readonly hardState: HardState;
  readonly snapshot: SnapshotRecord | undefined;
  /** Generation of the state; `undefined` in an incomplete directory. */
  readonly generation: number | undefined;
  readonly index: LogIndex;
}

export const HARD_STATE_KEY = Buffer.from("h");
export const TAIL_KEY = Buffer.from("t");
export const SNAPSHOT_KEY = Buffer.from("s");
export const GENERATION_KEY = Buffer.from("g");

/** Maximum bytes of cached entries, enough for those that followers ask for. Older ones are read from the disk. */
const MAX_CACHED_BYTES = 16 << 20;

/** Number of entries read at a time. */
const SLICE = 512;

/** Loads the log. Throws `BadRecord`; errors of LevelDB are thrown unchanged. */
export async function loadLog(level: Level): Promise<LoadedLog> {
  const [hard, bounds, snapshotBytes, generationBytes] = await level.getMany([
    HARD_STATE_KEY,
    TAIL_KEY,
    SNAPSHOT_KEY,
    GENERATION_KEY,
  ]);
  const tail = bounds === undefined ? blankTail() : decodeTail(bounds);
  const hardState = hard === undefined ? { term: 0, vote: undefined, commit: 0 } : decodeHardState(hard);
  const snapshot = snapshotBytes === undefined ? undefined : decodeSnapshotRecord(snapshotBytes);
  if (bounds === undefined && (hard !== undefined || snapshot !== undefined)) {
    throw new BadRecord("the bounds of the log are missing");
  }
  const index = await scan(level, tail);
  const loaded = {
    tail,
    hardState,
    snapshot,
    generation: generationBytes === undefined ? undefined : decodeGeneration(generationBytes),
    index,
  };
  refuseContradictions(loaded);
  return loaded;
}

function blankTail(): Tail {
  return { sequence: 0, base: origin(0, 0), last: origin(0, 0) };
}

async function scan(level: Level, { base, last }: Tail): Promise<LogIndex> {
  const log = createLogIndex({
    baseIndex: base.index,
    overheadBytes: RECORD_OVERHEAD_BYTES,
    maxCachedBytes: MAX_CACHED_BYTES,
  });
  let at: Position = base;
  const entries = level.iterator({ gte: entryKey(0), lte: entryKey(Number.MAX_SAFE_INTEGER) });
  try {
    for (;;) {
      const slice = await entries.nextv(SLICE);
      if (slice.length === 0) break;
      for (const [key, value] of slice) {
        const index = indexOfKey(key);
        if (index !== at.index + 1) throw new BadRecord(gapMessage(at.index + 1, index));
        const { entry, chain } = decodeEntry(value, index);
        if (entry.term < at.term) throw new BadRecord(`entry ${index} is of an older term than the one before`);
        const expected = chainAfter(at.chain, entry);
        if (!areBytesEqual(chain, expected)) throw new BadRecord(`entry ${index} does not continue the one before`);
        log.append(entry, value.length);
        at = { index, term: entry.term, chain: expected };
      }
    }
  } finally {
    await entries.close();
  }
  if (at.index !== last.index) throw new BadRecord(`the log ends with entry ${at.index} instead of ${last.index}`);
  if (at.term !== last.term || !areBytesEqual(at.chain, last.chain)) {
    throw new BadRecord(`entry ${at.index} is not the one that was written last`);
  }
  return log;
}

function gapMessage(expected: number, found: number): string {
  return found < expected
    ? `there is an entry ${found} before the beginning of the log at ${expected}`
    : `entries ${expected} to ${found - 1} are missing`;
}

function refuseContradictions({ tail, hardState, snapshot, index }: LoadedLog): void {
  const { base, last } = tail;
  if (hardState.term < last.term) throw new BadRecord(`the term ${hardState.term} is older than that of the log`);
  if (hardState.commit > last.index) {
    throw new BadRecord(`entry ${hardState.commit} is committed and the log ends at ${last.index}`);
  }
  if (snapshot === undefined) {
    if (base.index > 0) throw new BadRecord("the log begins behind a snapshot whose record is missing");
    return;
  }
  const term = snapshot.index === base.index ? base.term : index.term(snapshot.index);
  if (term !== snapshot.term) throw new BadRecord(`the snapshot at ${snapshot.index} is not of this log`);
  if (hardState.commit < snapshot.index) throw new BadRecord("the snapshot is beyond what is committed");
}

export function areBytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
