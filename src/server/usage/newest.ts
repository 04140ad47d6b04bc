/**
 * Keeps the newest items, in whatever order they arrive. Adding costs one store; items are sorted when there are twice as many as
 * are kept, or when they are read.
 */

interface NewestRows<Row> {
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
export function createNewestRows<Row>(size: number, timeOf: (row: Row) => number): NewestRows<Row> {
  let rows: Row[] = [];
  let changeListener: (() => void) | undefined;
  /** Sorts and truncates the rows. They arrive in sorted runs, which this sort handles fast. */
  const sortAndTruncate = (): void => {
    rows.sort((a, b) => timeOf(a) - timeOf(b));
    if (rows.length > size) rows = rows.slice(-size);
  };
  return {
    add(row) {
      rows.push(row);
      if (rows.length >= 2 * size) sortAndTruncate();
      if (changeListener === undefined) return;
      const listener = changeListener;
      changeListener = undefined;
      listener();
    },
    read() {
      sortAndTruncate();
      return rows.toReversed();
    },
    awaitChange(listener) {
      changeListener = listener;
    },
  };
}
