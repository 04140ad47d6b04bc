/**
 * Caches the keys of one issuer and decides when they are fetched.
 *
 * Invariants: one fetch runs at a time, and everyone who needs it waits for it. After a failure, the pause before the next fetch
 * doubles. Callers who name keys that do not exist cause at most one fetch in 30 s and store nothing. Known keys stay usable for
 * a day while the issuer is unreachable. Durations use the monotonic clock, in milliseconds.
 */

import type { Clock, Log } from "../../base/index.ts";
import { waitAtMost, waitFor } from "./abortable-wait.ts";
import type { PublicKey } from "./key-set.ts";
import type { KeyLoad, LoadKeys } from "./load-keys.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Time to accept known keys if the issuer sends no cache lifetime. A withdrawn key is accepted this long. */
const DEFAULT_AGE_MS = 10 * MINUTE_MS;
const MIN_AGE_MS = MINUTE_MS;
const MAX_AGE_MS = DAY_MS;

/** Time that outdated keys stay usable while the issuer cannot be reached. */
const STALE_LIMIT_MS = DAY_MS;

/** Minimum interval between fetches for unknown keys. Source: design decisions, section 1. */
const UNKNOWN_KEY_PAUSE_MS = 30_000;

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = MINUTE_MS;

/** Maximum wait for fresher keys if usable ones are known, so that a hanging issuer does not delay callers. */
const MAX_REFRESH_WAIT_MS = 1_000;

export interface KnownKeys {
  readonly keys: readonly PublicKey[];
  /** True if the keys arrived while the caller waited, so that asking again is useless. */
  readonly wereFetchedNow: boolean;
}

export interface IssuerKeys {
  /**
   * Returns usable keys, fetched if necessary; `undefined` if none are known and none can be fetched now. Rejects only if
   * `signal` aborts.
   */
  current(signal: AbortSignal): Promise<KnownKeys | undefined>;
  /** Returns newer keys than `known`, in which a key was missing; `undefined` if there are none or it is too soon to ask. */
  fetchNewer(known: KnownKeys, signal: AbortSignal): Promise<KnownKeys | undefined>;
  /** Returns whether these are the newest known keys and still usable. */
  areCurrent(keys: readonly PublicKey[]): boolean;
  /** Returns whether the last fetch failed. */
  isUnreachable(): boolean;
  close(): Promise<void>;
}

interface IssuerKeysOptions {
  readonly issuer: string;
  readonly load: LoadKeys;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Called for each fetch. */
  readonly onLoad: (kind: KeyLoad["kind"]) => void;
}

interface CachedKeys {
  readonly keys: readonly PublicKey[];
  readonly freshUntil: number;
}

export function createIssuerKeys({ issuer, load, timeoutMs, clock, log, onLoad }: IssuerKeysOptions): IssuerKeys {
  const closing = new AbortController();
  let cached: CachedKeys | undefined;
  let loading: Promise<void> | undefined;
  let failures = 0;
  let retryAt = Number.NEGATIVE_INFINITY;
  let lastUnknownKeyFetchAt = Number.NEGATIVE_INFINITY;

  /** Returns the running fetch, or starts one. Returns `undefined` while it is too soon after a failure. */
  function refresh(): Promise<void> | undefined {
    if (loading === undefined && !closing.signal.aborted && clock.monotonic() >= retryAt) {
      loading = load({ timeoutMs, signal: closing.signal })
        .then(store)
        .finally(() => {
          loading = undefined;
        });
    }
    return loading;
  }

  function store(loaded: KeyLoad): void {
    if (closing.signal.aborted) return;
    onLoad(loaded.kind);
    if (loaded.kind === "failed") {
      failures++;
      retryAt = clock.monotonic() + Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), MAX_PAUSE_MS);
      const { step, message } = loaded;
      log.warn("the keys of a token issuer cannot be fetched", { issuer, step, reason: message, failures });
      return;
    }
    if (failures > 0) log.info("the keys of a token issuer can be fetched again", { issuer });
    failures = 0;
    retryAt = Number.NEGATIVE_INFINITY;
    cached = { keys: loaded.keys, freshUntil: clock.monotonic() + cacheLifetimeMs(loaded.cacheControl) };
  }

  function usableKeys(): CachedKeys | undefined {
    return cached !== undefined && clock.monotonic() < cached.freshUntil + STALE_LIMIT_MS ? cached : undefined;
  }

  /** Returns the usable keys, and whether they are new. `before`: keys that the caller knew. */
  function toKnownKeys(before: CachedKeys | undefined): KnownKeys | undefined {
    const now = usableKeys();
    return now === undefined ? undefined : { keys: now.keys, wereFetchedNow: now !== before };
  }

  return {
    async current(signal) {
      const before = usableKeys();
      if (before !== undefined && clock.monotonic() < before.freshUntil) return toKnownKeys(before);
      const fetching = refresh();
      if (fetching === undefined) return toKnownKeys(before);
      if (before === undefined) await waitFor(fetching, signal);
      else if (failures === 0) await waitAtMost(fetching, MAX_REFRESH_WAIT_MS, signal);
      return toKnownKeys(before);
    },

    async fetchNewer({ keys }, signal) {
      const before = usableKeys();
      if (before?.keys !== keys) return toKnownKeys(before);
      if (loading === undefined && clock.monotonic() < lastUnknownKeyFetchAt + UNKNOWN_KEY_PAUSE_MS) return undefined;
      const fetching = refresh();
      if (fetching === undefined) return undefined;
      lastUnknownKeyFetchAt = clock.monotonic();
      await waitFor(fetching, signal);
      const after = toKnownKeys(before);
      return after?.wereFetchedNow ? after : undefined;
    },

    areCurrent: (keys) => usableKeys()?.keys === keys,

    isUnreachable: () => failures > 0,

    async close() {
      closing.abort(new Error("the token verifier is closed"));
      await loading;
    },
  };
}

function cacheLifetimeMs(cacheControl: string): number {
  const text = cacheControl.toLowerCase();
  if (/(?:^|[\s,])no-(?:store|cache)(?:$|[\s,])/.test(text)) return MIN_AGE_MS;
  const seconds = /(?:^|[\s,])max-age="?(\d{1,10})/.exec(text)?.[1];
  if (seconds === undefined) return DEFAULT_AGE_MS;
  return Math.min(Math.max(Number(seconds) * 1000, MIN_AGE_MS), MAX_AGE_MS);
}
