/**
 * One value that somebody else gives for a time: fetched when first needed, renewed ahead while it is used, and never
 * fetched twice at once. Spans are of the monotonic clock, in milliseconds.
 *
 * Invariants: whoever asks while a good value is held is answered at once; a fetch belongs to nobody, so that whoever leaves
 * takes nothing from the others; after a failure nothing is fetched before a pause that doubles, and whoever asks meanwhile
 * is told the failure at once.
 */
import type { Clock } from "../../base/index.ts";
import { usableMs } from "./usable-lifetime.ts";

/** Four fifths of a life; the last tenth of it at random, so that nodes that began together do not renew together. */
const RENEWED_AT = 0.8;
const SPREAD = 0.1;

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** The system's timers take no more. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface Fetched<Value> {
  readonly value: Value;
  /** From the moment the fetch began; infinite where it does not end. */
  readonly lifeMs: number;
  /** Milliseconds of it that were over when it was had. */
  readonly ageMs: number;
  /** False: another process of the node fetched it. */
  readonly isOwn: boolean;
}

export interface RenewedOptions<Value> {
  /** Rejects with what whoever asked is told. */
  readonly fetch: () => Promise<Fetched<Value>>;
  /** Milliseconds that a failure asks to be left alone for; undefined: it does not say. */
  readonly pauseOf: (failure: unknown) => number | undefined;
  /** An upstream that refuses whatever it is shown must not have a new one fetched for each request. */
  readonly dropsEveryMs: number;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Told of each fetch that gave a value. */
  readonly fetched: (isOwn: boolean) => void;
  /** Told of each that failed; `failures` in a row, of which the last is `failure`. */
  readonly failed: (failures: number, failure: unknown) => void;
}

export interface Renewed<Value> {
  current(): Value | Promise<Value>;
  /** It was refused: another is fetched, unless that has been done since. False: it is too soon for another. */
  drop(value: Value): boolean;
  close(): void;
}

export function createRenewed<Value>(options: RenewedOptions<Value>): Renewed<Value> {
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
        options.fetched(isOwn);
        renewIn(lifeMs * (RENEWED_AT - SPREAD * options.random()) - ageMs - (clock.monotonic() - begunAt));
        return value;
      },
      (error: unknown) => {
        fetching = undefined;
        failure = error;
        failures++;
        const doubled = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
        const pauseMs = Math.min(options.pauseOf(error) ?? doubled * (0.5 + options.random() / 2), LONGEST_PAUSE_MS);
        retryAt = clock.monotonic() + pauseMs;
        options.failed(failures, error);
        if (good() !== undefined) renewIn(pauseMs);
        throw error;
      },
    );
    return fetching;
  }

  function good(): { readonly value: Value } | undefined {
    return held !== undefined && clock.monotonic() < held.goodUntil ? held : undefined;
  }

  /** What nobody used since it was fetched is let go. */
  function renewIn(ms: number): void {
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
      const found = good();
      if (found !== undefined) return found.value;
      if (fetching !== undefined) return fetching;
      if (clock.monotonic() < retryAt) throw failure;
      return fetchNow();
    },
    drop(value) {
      if (held === undefined || held.value !== value) return true;
      const now = clock.monotonic();
      if (now < droppedAt + options.dropsEveryMs) return false;
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
