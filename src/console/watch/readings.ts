/**
 * Store of readings. Readings are immutable; new data is reported once for all changes of a turn, and at most every `tellMs`.
 * Unneeded values are kept for `keepMs`, so that going back shows them immediately.
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
import { type Pace, waitAfter } from "./intervals.ts";

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
  progress(words: string): void;
  /** Reports that the operator canceled the computation. */
  stopped(): void;
  /** Delays the next read by at least `ms`. */
  rest(ms: number): void;
  /** Earliest time of the next read. */
  readonly dueAt: number;
  /** True if the need is not read again until the operator asks for it. */
  readonly isForbidden: boolean;
  /** Clears failures. */
  forgive(): void;
}

interface Readings {
  /** Starts keeping a need, or continues with the kept value. */
  take(need: Need): Entry;
  /** Marks a need as no longer needed. */
  leave(key: string): void;
  /** Returns the entries that are needed. */
  entries(): Iterable<Entry>;
  /** Clears the failures of forbidden reads, including those of needs that are not needed now. */
  forgiveForbidden(): void;
  /** Reports that the admin endpoint has answered. */
  touch(): void;
  close(): void;
}

interface Kept {
  readonly entry: Entry;
  reading: Reading<unknown>;
  isPending: boolean;
  drop: NodeJS.Timeout | undefined;
}

const STOPPED = { status: 0, code: "stopped", message: "stopped; r starts it again" } as const;

interface ReadingsOptions {
  readonly pace: Pace;
  now(): number;
  onData(data: Data): void;
}

export function createReadings({ pace, now, onData }: ReadingsOptions): Readings {
  const { monotonic } = systemClock;
  const kept = new Map<string, Kept>();
  let telling: NodeJS.Timeout | undefined;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let touchedAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;

  function tellSoon(): void {
    if (isClosed || telling !== undefined) return;
    telling = setTimeout(
      () => {
        telling = undefined;
        reportedAt = monotonic();
        onData(dataOf(new Map([...kept].map(([key, { reading }]) => [key, reading]))));
      },
      Math.max(0, reportedAt + pace.tellMs - monotonic()),
    );
  }

  function set(it: Kept, change: Partial<Reading<unknown>>): void {
    it.reading = { ...it.reading, ...change };
    tellSoon();
  }

  function create(need: Need): Kept {
    let failures = 0;
    let restUntil = Number.NEGATIVE_INFINITY;
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
        retryAt = monotonic() + waitAfter(failures, pace.backoffMs);
        failures += 1;
        set(it, { failure, value, progress: undefined });
      },
      progress(progress) {
        set(it, { progress, failure: undefined });
      },
      stopped() {
        set(it, { failure: { ...STOPPED, at: now() }, progress: undefined });
      },
      rest(ms) {
        restUntil = monotonic() + ms;
      },
      get dueAt() {
        return Math.max(restUntil, retryAt);
      },
      get isForbidden() {
        return it.reading.failure?.code === "forbidden";
      },
      forgive() {
        failures = 0;
        retryAt = Number.NEGATIVE_INFINITY;
        if (it.reading.failure !== undefined) set(it, { failure: undefined });
      },
    };
    const reading = { value: undefined, freshAt: undefined, askedAt: now(), failure: undefined };
    const it: Kept = { entry, reading, isPending: false, drop: undefined };
    return it;
  }

  return {
    take(need) {
      const key = keyOf(need);
      const known = kept.get(key);
      if (known === undefined) {
        const made = create(need);
        kept.set(key, made);
        tellSoon();
        return made.entry;
      }
      clearTimeout(known.drop);
      known.drop = undefined;
      // A computation in progress ended when the need was dropped, so its progress is cleared.
      set(known, { askedAt: now(), progress: undefined });
      return known.entry;
    },
    leave(key) {
      const it = kept.get(key);
      if (it === undefined || isClosed) return;
      it.isPending = false;
      it.drop = setTimeout(() => {
        kept.delete(key);
        tellSoon();
      }, pace.keepMs);
    },
    *entries() {
      for (const { entry, drop } of kept.values()) if (drop === undefined) yield entry;
    },
    forgiveForbidden() {
      for (const { entry } of kept.values()) if (entry.isForbidden) entry.forgive();
    },
    touch() {
      if (monotonic() - touchedAt < pace.touchMs) return;
      touchedAt = monotonic();
      for (const it of kept.values()) if (it.isPending) set(it, { freshAt: now() });
    },
    close() {
      isClosed = true;
      clearTimeout(telling);
      for (const { drop } of kept.values()) clearTimeout(drop);
    },
  };
}

/** Returns the readings as `Data`. Each value is stored under the key of its need, so its type is that of the need. */
function dataOf(readings: ReadonlyMap<string, Reading<unknown>>): Data {
  return {
    get: <Id extends ReadableId>(need: Need<Id>) => readings.get(keyOf(need)) as Reading<Readable[Id]> | undefined,
  };
}
