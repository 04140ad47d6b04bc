/**
 * Keeps the newest items, in whatever order they arrive. Adding costs one store; items are sorted when there are twice as many as
 * are kept, or when they are read.
 */

export interface Newest<Row> {
  add(row: Row): void;
  /** Returns the current rows, newest first. */
  read(): readonly Row[];
  /** Calls the listener once, as soon as something is added. There is one listener at a time; `undefined` removes it. */
  awaitChange(listener: (() => void) | undefined): void;
}

/**
 * Creates the list. `size`: number of items that are kept, at least 1. `at` returns the time of an item; of items with equal
 * times, the one added later is newer.
 */
export function createNewest<Row>(size: number, at: (row: Row) => number): Newest<Row> {
  let rows: Row[] = [];
  let awaiting: (() => void) | undefined;
  /** Sorts and truncates the rows. They arrive in sorted runs, which this sort handles fast. */
  const settle = (): void => {
    rows.sort((a, b) => at(a) - at(b));
    if (rows.length > size) rows = rows.slice(-size);
  };
  return {
    add(row) {
      rows.push(row);
      if (rows.length >= 2 * size) settle();
      if (awaiting === undefined) return;
      const listener = awaiting;
      awaiting = undefined;
      listener();
    },
    read() {
      settle();
      return rows.toReversed();
    },
    awaitChange(listener) {
      awaiting = listener;
    },
  };
}
