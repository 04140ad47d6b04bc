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
  put(key: string, cached: CachedValue<Value>): void;
  size(): number;
}

export function createExchangedTokens<Value>(): ExchangedTokens<Value> {
  /** Tokens, ordered by last use. */
  const tokens = new FifoMap<string, CachedValue<Value>>();
  const keysByCaller = new Map<string, Set<string>>();

  function remove(key: string): void {
    const cached = tokens.get(key);
    if (cached === undefined) return;
    tokens.delete(key);
    const callerKeys = keysByCaller.get(cached.principal);
    callerKeys?.delete(key);
    if (callerKeys?.size === 0) keysByCaller.delete(cached.principal);
  }

  return {
    find(key, now) {
      const cached = tokens.get(key);
      if (cached === undefined) return undefined;
      if (now >= cached.until) {
        remove(key);
        return undefined;
      }
      tokens.delete(key);
      tokens.set(key, cached);
      return cached.value;
    },
    put(key, cached) {
      remove(key);
      const callerKeys = keysByCaller.get(cached.principal) ?? new Set();
      const [oldest] = callerKeys;
      if (callerKeys.size >= MAX_TOKENS_PER_CALLER && oldest !== undefined) remove(oldest);
      const leastRecent = tokens.size >= MAX_TOKENS ? tokens.oldest() : undefined;
      if (leastRecent !== undefined) remove(leastRecent.key);
      // The caller's set may have been removed with its last token.
      keysByCaller.set(cached.principal, callerKeys.add(key));
      tokens.set(key, cached);
    },
    size: () => tokens.size,
  };
}
