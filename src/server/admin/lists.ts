/**
 * Lists with blocking reads. Source: design decisions, section 3 (blocking reads).
 *
 * A table has one listener, however many reads wait; a waiting read costs one entry in a set and the timer of its own limit. An
 * index is local to this process: one above the list's own came from another node or from before a restart, and is answered
 * immediately. Index 0 precedes everything.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import type { StateView } from "../cluster/index.ts";

type RowsAt<Row> = (now: number) => Iterable<Row>;

/** Page of a list: at most `limit` rows after the row named `after`, or from the first row if it is `undefined`. */
interface Page {
  readonly after: string | undefined;
  readonly limit: number;
}

export interface ListSource<Row> {
  /** Returns a number that increases whenever the rows change. */
  version(): number;
  /** Calls `onChange` after each change, until the returned function is called. */
  watch(onChange: () => void): () => void;
  /** Takes the current rows. The returned function makes them lazily, as of a time in milliseconds since 1970. */
  take(): RowsAt<Row> | Promise<RowsAt<Row>>;
  /** Takes one page without reading other rows. Only lists that are sorted by name have this method. */
  page?(page: Page): RowsAt<Row>;
  /**
   * Returns the rows in packed form. Only lists that may have a million rows have this method: `query` unpacks the rows that it
   * needs in its own thread.
   */
  parts?(): Promise<readonly StoredPart[]>;
}

/** Packed rows that have one value in common, their `label`. */
export interface StoredPart {
  readonly label: string;
  readonly texts: readonly string[];
}

/** Returns a `RowsAt` of rows that are the same at any time. */
export const fixedRows =
  <Row>(rows: readonly Row[]): RowsAt<Row> =>
  () =>
    rows;

/** Returns `version` and `watch` for a list whose version is the number of calls of its listener. */
export function countedVersion(
  listen: (listener: () => void) => () => void,
): Pick<ListSource<unknown>, "version" | "watch"> {
  let changes = 0;
  return {
    version: () => changes,
    watch: (onChange) =>
      listen(() => {
        changes += 1;
        onChange();
      }),
  };
}

/** Returns `version` and `watch` for a list that changes with any of the state's tables under `prefixes`. */
export function tablesVersion(
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

/**
 * Maximum time on the thread without a break, in milliseconds. It is short, because a data plane request needs several turns of
 * the event loop and may have to wait this long before each.
 */
const MAX_TURN_MS = 1;
/** Number of rows between two checks of the clock. */
const ROWS_PER_CHECK = 64;
/** Maximum number of walks through a table. The last one does not yield the thread, so that no change can interrupt it. */
const MAX_WALKS = 4;

/** Returns the values of a table as of one moment during the call. */
export const storedValues = (view: StateView, prefix: string): Promise<readonly string[]> =>
  collectStored(view, prefix, (_, value) => value);

/**
 * Collects rows of a table as of one moment. A walk that yields the thread and then finds that the state has changed starts
 * again.
 */
export async function collectStored<T>(
  view: StateView,
  prefix: string,
  take: (key: string, value: string) => T | undefined,
): Promise<readonly T[]> {
  for (let walk = 1; ; walk++) {
    const taken: T[] = [];
    const version = view.version("");
    let isConsistent = true;
    let turn = performance.now();
    let rows = 0;
    for (const [key, value] of view.scan(prefix)) {
      const item = take(key, value);
      if (item !== undefined) taken.push(item);
      rows += 1;
      if (walk === MAX_WALKS || rows % ROWS_PER_CHECK !== 0 || performance.now() - turn < MAX_TURN_MS) continue;
      await nextTurn();
      isConsistent = view.version("") === version;
      if (!isConsistent) break;
      turn = performance.now();
    }
    if (isConsistent) return taken;
  }
}

/** Processes many items, in as many turns as necessary. */
export async function processInTurns<T>(items: readonly T[], work: (item: T) => void): Promise<void> {
  let turn = performance.now();
  for (const [at, item] of items.entries()) {
    work(item);
    if ((at + 1) % ROWS_PER_CHECK !== 0 || performance.now() - turn < MAX_TURN_MS) continue;
    await nextTurn();
    turn = performance.now();
  }
}

/** Returns only the rows whose columns have these values; all if no column is named. */
export function filterByColumns<Row>(rows: Iterable<Row>, columns: Readonly<Record<string, unknown>>): Iterable<Row> {
  const asked = Object.entries(columns);
  return asked.length === 0 ? rows : rowsWith(rows, asked);
}

function* rowsWith<Row>(rows: Iterable<Row>, asked: readonly (readonly [column: string, value: unknown])[]) {
  for (const row of rows) {
    if (asked.every(([column, value]) => (row as Readonly<Record<string, unknown>>)[column] === value)) yield row;
  }
}

/** Yields the first `count` rows. */
export function* takeFirst<Row>(rows: Iterable<Row>, count: number): Generator<Row> {
  let taken = 0;
  for (const row of rows) {
    if (taken === count) return;
    taken += 1;
    yield row;
  }
}

interface ListRead<Row> {
  readonly index: number;
  readonly rows: Iterable<Row>;
}

interface WaitOptions {
  /** Index after which a change is awaited; `undefined` to read immediately. */
  readonly index: number | undefined;
  readonly waitMs: number;
  /** Page to read; `undefined` for the whole list. */
  readonly page?: Page | undefined;
  readonly signal: AbortSignal;
}

export interface WatchedList<Row> {
  /** Waits for a change if asked to, then reads the list. Rejects when the signal aborts. */
  read(options: WaitOptions, now: () => number): Promise<ListRead<Row>>;
  /** Number of reads in progress. */
  readonly waiting: number;
  /** Answers all waiting reads with the current rows, and later reads immediately. */
  close(): void;
}

export function watchList<Row>(source: ListSource<Row>): WatchedList<Row> {
  const waiting = new Set<() => void>();
  let isClosed = false;
  const wakeReaders = (): void => {
    // Each reader checks whether the index has passed its own, and otherwise adds itself again.
    const woken = [...waiting];
    waiting.clear();
    for (const resume of woken) resume();
  };
  const unwatch = source.watch(wakeReaders);
  const indexNow = (): number => source.version() + 1;

  /** Rows that all readers of the same index share, because one change may wake a thousand readers. Released after the last. */
  let shared: { readonly index: number; taken: Promise<RowsAt<Row>> | WeakRef<RowsAt<Row>> } | undefined;
  async function takeShared(index: number): Promise<RowsAt<Row>> {
    const known = shared?.index === index ? shared.taken : undefined;
    // There must be no `await` before `shared` is set, so that other readers woken by the same change find it.
    const cached = known instanceof WeakRef ? known.deref() : known;
    if (cached !== undefined) return await cached;
    const taking = { index, taken: Promise.resolve(source.take()) as Promise<RowsAt<Row>> | WeakRef<RowsAt<Row>> };
    shared = taking;
    try {
      const taken = await (taking.taken as Promise<RowsAt<Row>>);
      taking.taken = new WeakRef(taken);
      return taken;
    } catch (error) {
      if (shared === taking) shared = undefined;
      throw error;
    }
  }

  function waitForChange(signal: AbortSignal): Promise<void> {
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
    async read({ index, waitMs, page, signal }, now) {
      if (index !== undefined && waitMs > 0 && indexNow() === index && !isClosed) {
        const ending = new AbortController();
        const end = (): void => ending.abort();
        const limit = setTimeout(end, waitMs);
        signal.addEventListener("abort", end, { once: true });
        try {
          while (indexNow() === index && !isClosed && !ending.signal.aborted && !signal.aborted) {
            await waitForChange(ending.signal);
          }
        } finally {
          clearTimeout(limit);
          signal.removeEventListener("abort", end);
        }
      }
      signal.throwIfAborted();
      const reached = indexNow();
      const taken = page === undefined ? undefined : source.page?.(page);
      return { index: reached, rows: (taken ?? (await takeShared(reached)))(now()) };
    },
    get waiting() {
      return waiting.size;
    },
    close() {
      isClosed = true;
      unwatch();
      wakeReaders();
    },
  };
}
