/**
 * In-memory index of the log: the term of every entry, as runs; the size of each record; and the newest entries themselves, up
 * to a number of bytes. Terms never decrease along the log, and a leader's term is long, so there are few runs.
 */

import type { Entry } from "../../core/raft/index.ts";

export interface LogIndex {
  /** Last index before the log, which is not kept. */
  readonly baseIndex: number;
  readonly lastIndex: number;
  /** Total size of the records. */
  readonly byteLength: number;
  /** Returns the term of an entry; `undefined` outside of the log. */
  term(index: number): number | undefined;
  /** Returns the length of the data of a kept entry. */
  dataLength(index: number): number;
  cached(index: number): Entry | undefined;
  /** Removes everything at `entry.index` and above, then adds the entry, which is at most one beyond the last. */
  append(entry: Entry, recordBytes: number): void;
  /** Removes entries up to and including `index`. */
  compact(index: number): void;
  /** Removes everything; the log then begins after `index`. */
  reset(index: number): void;
}

interface Run {
  readonly from: number;
  readonly term: number;
}

/** Creates an empty index. `overheadBytes`: size of a record beyond its data. */
export function createLogIndex(options: {
  readonly baseIndex: number;
  readonly overheadBytes: number;
  readonly maxCachedBytes: number;
}): LogIndex {
  let baseIndex = options.baseIndex;
  let byteLength = 0;
  let runs: Run[] = [];
  /** Sizes of the records, beginning with the one at `baseIndex + 1`. */
  let sizes: number[] = [];
  const cache = new Map<number, Entry>();
  let cachedBytes = 0;
  /** Lowest index that may be cached. */
  let cachedFrom = baseIndex + 1;

  const lastIndex = () => baseIndex + sizes.length;
  const sizeOf = (index: number) => sizes[index - baseIndex - 1] ?? 0;

  function uncache(index: number): void {
    if (cache.delete(index)) cachedBytes -= sizeOf(index);
  }

  function truncate(from: number): void {
    for (let index = lastIndex(); index >= from; index--) {
      uncache(index);
      byteLength -= sizes.pop() ?? 0;
    }
    while (runs.length > 0 && (runs.at(-1)?.from ?? 0) >= from) runs.pop();
    cachedFrom = Math.min(cachedFrom, from);
  }

  return {
    get baseIndex() {
      return baseIndex;
    },
    get lastIndex() {
      return lastIndex();
    },
    get byteLength() {
      return byteLength;
    },
    term(index) {
      if (index <= baseIndex || index > lastIndex()) return undefined;
      let low = 0;
      let high = runs.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if ((runs[middle]?.from ?? 0) <= index) low = middle;
        else high = middle - 1;
      }
      return runs[low]?.term;
    },
    dataLength: (index) => sizeOf(index) - options.overheadBytes,
    cached: (index) => cache.get(index),
    append(entry, recordBytes) {
      truncate(entry.index);
      sizes.push(recordBytes);
      byteLength += recordBytes;
      if (runs.at(-1)?.term !== entry.term) runs.push({ from: entry.index, term: entry.term });
      cache.set(entry.index, entry);
      cachedBytes += recordBytes;
      while (cachedBytes > options.maxCachedBytes && cachedFrom < entry.index) uncache(cachedFrom++);
    },
    compact(index) {
      for (let each = Math.max(baseIndex + 1, cachedFrom); each <= index; each++) uncache(each);
      for (const bytes of sizes.splice(0, index - baseIndex)) byteLength -= bytes;
      baseIndex = index;
      cachedFrom = Math.max(cachedFrom, index + 1);
      const first = runs.findLastIndex(({ from }) => from <= index + 1);
      if (first > 0) runs = runs.slice(first);
      if (sizes.length === 0) runs = [];
    },
    reset(index) {
      baseIndex = index;
      byteLength = 0;
      runs = [];
      sizes = [];
      cache.clear();
      cachedBytes = 0;
      cachedFrom = index + 1;
    },
  };
}
