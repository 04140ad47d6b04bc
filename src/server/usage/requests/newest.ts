/**
 * Ring of the newest items, in whatever order they arrive. Adding costs one store; items are sorted when there are twice as
 * many, or when they are read.
 */

export interface Newest<Row> {
  add(row: Row): void;
  /** Returns the present rows, newest first. */
  read(): readonly Row[];
  /** Calls back once, as soon as something is added. One listener at a time; undefined takes it off. */
  awaitChange(listener: (() => void) | undefined): void;
}

/** `size`: how many are kept, at least 1. `at`: greater of what is newer; of equals the one that was added later. */
export function createNewest<Row>(size: number, at: (row: Row) => number): Newest<Row> {
  let rows: Row[] = [];
  let awaiting: (() => void) | undefined;
  /** Told in runs that are in order, which is what this sort is quick with. */
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
