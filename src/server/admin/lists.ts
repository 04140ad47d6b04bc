/**
 * Lists that can be waited for. Source: design decisions, section 3 (blocking reads).
 *
 * A table has one listener, however many wait; a waiting read costs one entry in a set and the timer of its own limit.
 * An index is of this process: one that is higher than the list's own came from another node or from before a restart,
 * and is answered at once. Index 0 is before everything.
 */

import type { StateView } from "../cluster/index.ts";

export interface ListSource<Row> {
  /** Growing; changes whenever the rows do. */
  version(): number;
  /** Called after a change; returns the way to end it. */
  watch(onChange: () => void): () => void;
  /** The rows at the moment of the call, made one by one as they are taken. `now`: milliseconds since 1970. */
  rows(now: number): Iterable<Row>;
}

/** Version and watch of a list that changes with any of these tables of the state. */
export function tables(
  view: StateView,
  ...prefixes: readonly string[]
): Pick<ListSource<unknown>, "version" | "watch"> {
  return {
    version: () => prefixes.reduce((sum, prefix) => sum + view.version(prefix), 0),
    watch(onChange) {
      const unwatch = prefixes.map((prefix) => view.watch(prefix, () => onChange()));
      return () => {
        for (const end of unwatch) end();
      };
    },
  };
}

export interface ListRead<Row> {
  readonly index: number;
  readonly rows: Iterable<Row>;
}

export interface WaitOptions {
  /** Undefined: at once. */
  readonly index: number | undefined;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

export interface WatchedList<Row> {
  /** Rejects when the signal aborts. */
  read(options: WaitOptions, now: () => number): Promise<ListRead<Row>>;
  /** Reads under way. */
  readonly waiting: number;
  /** Answers all that wait with what there is, and further reads at once. */
  close(): void;
}

export function watchList<Row>(source: ListSource<Row>): WatchedList<Row> {
  const waiting = new Set<() => void>();
  let isClosed = false;
  const wake = (): void => {
    // Each checks for itself whether this was a change past its index; one that waits again is added anew.
    const woken = [...waiting];
    waiting.clear();
    for (const resume of woken) resume();
  };
  const unwatch = source.watch(wake);
  const indexNow = (): number => source.version() + 1;

  function changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      waiting.add(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  return {
    async read({ index, waitMs, signal }, now) {
      if (index !== undefined && waitMs > 0 && indexNow() === index && !isClosed) {
        const ending = new AbortController();
        const end = (): void => ending.abort();
        const limit = setTimeout(end, waitMs);
        signal.addEventListener("abort", end, { once: true });
        try {
          while (indexNow() === index && !isClosed && !ending.signal.aborted && !signal.aborted) {
            await changed(ending.signal);
          }
        } finally {
          clearTimeout(limit);
          signal.removeEventListener("abort", end);
        }
      }
      signal.throwIfAborted();
      return { index: indexNow(), rows: source.rows(now()) };
    },
    get waiting() {
      return waiting.size;
    },
    close() {
      isClosed = true;
      unwatch();
      wake();
    },
  };
}
