/**
 * Store of readings. Readings are immutable; new data is reported once for all changes of a turn, and at most every `reportMs`.
 * Unneeded values are kept for `retentionMs`, so that going back shows them immediately.
 */

import { systemClock } from "../../base/index.ts";
import {
  type Data,
  type Failure,
  type Gaps,
  keyOf,
  type Need,
  type Readable,
  type ReadableId,
  type Reading,
} from "../model/data.ts";
import { type ReadIntervals, waitAfter } from "./intervals.ts";

/** One need with its reading. Times are of the monotonic clock. */
export interface Entry {
  readonly need: Need;
  /** Returns the last good value. */
  value(): unknown;
  /** Marks the read as pending. Meanwhile an answer to any read proves that the value is current. */
  setPending(isPending: boolean): void;
  succeed(value: unknown, gaps?: Gaps): void;
  /** Reports a failed read. `value` is shown nevertheless; default: the last good value. */
  fail(failure: Failure, value?: unknown): void;
  /** Reports the progress of a local computation; `succeed`, `fail` or `stopped` end it. */
  progress(text: string): void;
  /** Reports that the operator canceled the computation. */
  markStopped(): void;
  /** Delays the next read by at least `ms`. */
  delayNext(ms: number): void;
  /** Earliest time of the next read. */
  readonly dueAt: number;
  /** True if the need is not read again until the operator asks for it. */
  readonly isForbidden: boolean;
  /** Clears failures. */
  clearFailure(): void;
}

interface ReadingStore {
  /** Starts keeping a need, or continues with the kept value. */
  acquire(need: Need): Entry;
  /** Marks a need as no longer needed. */
  release(key: string): void;
  /** Returns the entries that are needed. */
  entries(): Iterable<Entry>;
  /** Clears the failures of forbidden reads, including those of needs that are not needed now. */
  clearForbidden(): void;
  /** Reports that the admin endpoint has answered. */
  markFresh(): void;
  close(): void;
}

interface StoredEntry {
  readonly entry: Entry;
  reading: Reading<unknown>;
  isPending: boolean;
  dropTimer: NodeJS.Timeout | undefined;
}

const STOPPED = { status: 0, code: "stopped", message: "stopped; r starts it again" } as const;

interface ReadingsOptions {
  readonly intervals: ReadIntervals;
  now(): number;
  onData(data: Data): void;
}

export function createReadingStore({ intervals, now, onData }: ReadingsOptions): ReadingStore {
  const { monotonic } = systemClock;
  const stored = new Map<string, StoredEntry>();
  let reportTimer: NodeJS.Timeout | undefined;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let markedFreshAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;

  function scheduleReport(): void {
    if (isClosed || reportTimer !== undefined) return;
    reportTimer = setTimeout(
      () => {
        reportTimer = undefined;
        reportedAt = monotonic();
        onData(dataOf(new Map([...stored].map(([key, { reading }]) => [key, reading]))));
      },
      Math.max(0, reportedAt + intervals.reportMs - monotonic()),
    );
  }

  function set(it: StoredEntry, change: Partial<Reading<unknown>>): void {
    it.reading = { ...it.reading, ...change };
    scheduleReport();
  }

  function create(need: Need): StoredEntry {
    let failures = 0;
    let delayedUntil = Number.NEGATIVE_INFINITY;
    let retryAt = Number.NEGATIVE_INFINITY;
    const entry: Entry = {
      need,
      value: () => it.reading.value,
      setPending(isPending) {
        it.isPending = isPending;
      },
      succeed(value, gaps) {
        failures = 0;
        set(it, { value, gaps, freshAt: now(), failure: undefined, progress: undefined });
      },
      fail(failure, value = it.reading.value) {
        retryAt = monotonic() + waitAfter(failures, intervals.backoffMs);
        failures += 1;
        set(it, { failure, value, progress: undefined });
      },
      progress(progress) {
        set(it, { progress, failure: undefined });
      },
      markStopped() {
        set(it, { failure: { ...STOPPED, at: now() }, progress: undefined });
      },
      delayNext(ms) {
        delayedUntil = monotonic() + ms;
      },
      get dueAt() {
        return Math.max(delayedUntil, retryAt);
      },
      get isForbidden() {
        return it.reading.failure?.code === "forbidden";
      },
      clearFailure() {
        failures = 0;
        retryAt = Number.NEGATIVE_INFINITY;
        if (it.reading.failure !== undefined) set(it, { failure: undefined });
      },
    };
    const reading = { value: undefined, freshAt: undefined, requestedAt: now(), failure: undefined };
    const it: StoredEntry = { entry, reading, isPending: false, dropTimer: undefined };
    return it;
  }

  return {
    acquire(need) {
      const key = keyOf(need);
      const known = stored.get(key);
      if (known === undefined) {
        const created = create(need);
        stored.set(key, created);
        scheduleReport();
        return created.entry;
      }
      clearTimeout(known.dropTimer);
      known.dropTimer = undefined;
      // A computation in progress ended when the need was dropped, so its progress is cleared.
      set(known, { requestedAt: now(), progress: undefined });
      return known.entry;
    },
    release(key) {
      const it = stored.get(key);
      if (it === undefined || isClosed) return;
      it.isPending = false;
      it.dropTimer = setTimeout(() => {
        stored.delete(key);
        scheduleReport();
      }, intervals.retentionMs);
    },
    *entries() {
      for (const { entry, dropTimer } of stored.values()) if (dropTimer === undefined) yield entry;
    },
    clearForbidden() {
      for (const { entry } of stored.values()) if (entry.isForbidden) entry.clearFailure();
    },
    markFresh() {
      if (monotonic() - markedFreshAt < intervals.freshnessMs) return;
      markedFreshAt = monotonic();
      for (const it of stored.values()) if (it.isPending) set(it, { freshAt: now() });
    },
    close() {
      isClosed = true;
      clearTimeout(reportTimer);
      for (const { dropTimer } of stored.values()) clearTimeout(dropTimer);
    },
  };
}

/** Returns the readings as `Data`. Each value is stored under the key of its need, so its type is that of the need. */
function dataOf(readings: ReadonlyMap<string, Reading<unknown>>): Data {
  return {
    get: <Id extends ReadableId>(need: Need<Id>) => readings.get(keyOf(need)) as Reading<Readable[Id]> | undefined,
  };
}
