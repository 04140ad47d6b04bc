/**
 * Cache of exchanged tokens, one for each caller's token, and of short-lived refusals. Evicts the least recently used, with a
 * limit per caller and a total limit. Times are monotonic, in milliseconds.
 */

import { FifoMap } from "../../../base/index.ts";

/** Maximum tokens of all callers, and of one caller. */
const MAX_TOKENS = 10_000;
const MAX_TOKENS_PER_CALLER = 100;

interface CachedValue<Value> {
  readonly value: Value;
  readonly until: number;
  readonly principal: string;
}

interface ExchangedTokens<Value> {
  /** Returns the value for a caller's token. `key`: digest of the token. */
  find(key: string, now: number): Value | undefined;
  put(key: string, kept: CachedValue<Value>): void;
  size(): number;
}

export function createExchangedTokens<Value>(): ExchangedTokens<Value> {
  /** Tokens, ordered by last use. */
  const tokens = new FifoMap<string, CachedValue<Value>>();
  const keysByCaller = new Map<string, Set<string>>();

  function remove(key: string): void {
    const kept = tokens.get(key);
    if (kept === undefined) return;
    tokens.delete(key);
    const callerKeys = keysByCaller.get(kept.principal);
    callerKeys?.delete(key);
    if (callerKeys?.size === 0) keysByCaller.delete(kept.principal);
  }

  return {
    find(key, now) {
      const kept = tokens.get(key);
      if (kept === undefined) return undefined;
      if (now >= kept.until) {
        remove(key);
        return undefined;
      }
      tokens.delete(key);
      tokens.set(key, kept);
      return kept.value;
    },
    put(key, kept) {
      remove(key);
      const callerKeys = keysByCaller.get(kept.principal) ?? new Set();
      const [oldest] = callerKeys;
      if (callerKeys.size >= MAX_TOKENS_PER_CALLER && oldest !== undefined) remove(oldest);
      const leastRecent = tokens.size >= MAX_TOKENS ? tokens.oldest() : undefined;
      if (leastRecent !== undefined) remove(leastRecent.key);
      // The caller's set may have been removed with its last token.
      keysByCaller.set(kept.principal, callerKeys.add(key));
      tokens.set(key, kept);
    },
    size: () => tokens.size,
  };
}
