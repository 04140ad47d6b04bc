/**
 * The last so many of anything, in memory. To add costs a store; the oldest makes room for the newest, and nothing is
 * copied or put into words before somebody reads.
 */

export interface Ring<Row> {
  add(row: Row): void;
  /** As they stand now, newest first. */
  read(): readonly Row[];
  /** Calls back once, as soon as something is added. One listener at a time; undefined takes it off. */
  awaitChange(listener: (() => void) | undefined): void;
}

/** `size`: how many are kept, at least 1. */
export function createRing<Row>(size: number): Ring<Row> {
  const rows: Row[] = [];
  let next = 0;
  let awaiting: (() => void) | undefined;
  return {
    add(row) {
      rows[next] = row;
      next = next + 1 === size ? 0 : next + 1;
      if (awaiting === undefined) return;
      const listener = awaiting;
      awaiting = undefined;
      listener();
    },
    read: () => [...rows.slice(next), ...rows.slice(0, next)].reverse(),
    awaitChange(listener) {
      awaiting = listener;
    },
  };
}
