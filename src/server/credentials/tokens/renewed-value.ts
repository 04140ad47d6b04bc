/**
 * One value with a limited lifetime: fetched on first use, renewed ahead of its expiry while it is in use, and never fetched
 * twice at once. Durations are monotonic, in milliseconds.
 *
 * Invariants: a caller is answered at once while a good value is held. A fetch is independent of its callers, so one that
 * leaves does not affect the others. After a failure nothing is fetched until a pause that doubles has passed, and callers get
 * the failure at once.
 */
import type { Clock } from "../../../base/index.ts";
import { usableMs } from "../usable-lifetime.ts";

/**
 * Renewal happens after 0.8 of the lifetime, less a random part of up to 0.1 of it, so that nodes that began together do not
 * renew together.
 */
const RENEWAL_SHARE = 0.8;
const RENEWAL_SPREAD = 0.1;

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** Maximum delay of a timer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface FetchedValue<Value> {
  readonly value: Value;
  /** Lifetime since the fetch began, in milliseconds; infinite without an expiry. */
  readonly lifeMs: number;
  /** Part of the lifetime that had passed when the value arrived, in milliseconds. */
  readonly ageMs: number;
  /** False if another process of the node fetched it. */
  readonly isOwn: boolean;
}

interface RenewedValueOptions<Value> {
  /** Fetches a value. Rejects with the error for callers. */
  readonly fetch: () => Promise<FetchedValue<Value>>;
  /** Returns the pause that a failure asks for, in milliseconds; `undefined` if it asks for none. */
  readonly pauseOf: (failure: unknown) => number | undefined;
  /**
   * Minimum interval between calls of `drop` that cause a fetch, in milliseconds. An upstream that refuses every value must not
   * cause a fetch for each request.
   */
  readonly minDropIntervalMs: number;
  readonly clock: Clock;
  /** Returns a uniform random number in [0, 1). */
  readonly random: () => number;
  /** Called for each successful fetch. */
  readonly onFetched: (isOwn: boolean) => void;
  /** Called for each failed fetch. `failures`: number of failures in a row, of which `failure` is the last. */
  readonly onFailed: (failures: number, failure: unknown) => void;
}

export interface RenewedValue<Value> {
  current(): Value | Promise<Value>;
  /**
   * Discards a value that was refused and fetches another, unless that has happened since. Returns false if it is too soon for
   * another fetch.
   */
  drop(value: Value): boolean;
  close(): void;
}

export function createRenewedValue<Value>(options: RenewedValueOptions<Value>): RenewedValue<Value> {
  const { clock } = options;
  let held: { readonly value: Value; readonly goodUntil: number } | undefined;
  let fetching: Promise<Value> | undefined;
  let failure: unknown;
  let failures = 0;
  let retryAt = Number.NEGATIVE_INFINITY;
  let droppedAt = Number.NEGATIVE_INFINITY;
  let isUsed = false;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function fetchNow(): Promise<Value> {
    const begunAt = clock.monotonic();
    clearTimeout(timer);
    fetching ??= options.fetch().then(
      ({ value, lifeMs, ageMs, isOwn }) => {
        fetching = undefined;
        failures = 0;
        failure = undefined;
        retryAt = Number.NEGATIVE_INFINITY;
        const goodMs = usableMs(lifeMs) - ageMs;
        held = goodMs > 0 ? { value, goodUntil: begunAt + goodMs } : undefined;
        isUsed = false;
        options.onFetched(isOwn);
        scheduleRenewal(
          lifeMs * (RENEWAL_SHARE - RENEWAL_SPREAD * options.random()) - ageMs - (clock.monotonic() - begunAt),
        );
        return value;
      },
      (error: unknown) => {
        fetching = undefined;
        failure = error;
        failures++;
        const doubled = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
        const pauseMs = Math.min(options.pauseOf(error) ?? doubled * (0.5 + options.random() / 2), LONGEST_PAUSE_MS);
        retryAt = clock.monotonic() + pauseMs;
        options.onFailed(failures, error);
        if (usableValue() !== undefined) scheduleRenewal(pauseMs);
        throw error;
      },
    );
    return fetching;
  }

  function usableValue(): { readonly value: Value } | undefined {
    return held !== undefined && clock.monotonic() < held.goodUntil ? held : undefined;
  }

  /** Schedules the renewal. A value that was not used since it was fetched is discarded instead. */
  function scheduleRenewal(ms: number): void {
    if (isClosed || held === undefined || !Number.isFinite(ms)) return;
    timer = setTimeout(
      () => {
        if (isUsed && fetching === undefined) fetchNow().catch(() => undefined);
      },
      Math.min(Math.max(ms, 0), LONGEST_TIMER_MS),
    );
    timer.unref();
  }

  return {
    current() {
      isUsed = true;
      const found = usableValue();
      if (found !== undefined) return found.value;
      if (fetching !== undefined) return fetching;
      if (clock.monotonic() < retryAt) throw failure;
      return fetchNow();
    },
    drop(value) {
      if (held === undefined || held.value !== value) return true;
      const now = clock.monotonic();
      if (now < droppedAt + options.minDropIntervalMs) return false;
      droppedAt = now;
      held = undefined;
      clearTimeout(timer);
      return true;
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
