/**
 * Cache of exchanged tokens, one for each caller's token, and of short-lived refusals. Evicts the least recently used, with a
 * limit per caller and a total limit. Times are monotonic, in milliseconds.
 */

import { FifoMap } from "../../../base/index.ts";

/** Maximum tokens of all callers, and of one caller. */
const MAX_TOKENS = 10_000;
const MAX_OF_CALLER = 100;

interface Kept<Value> {
  readonly value: Value;
  readonly until: number;
  readonly principal: string;
}

interface ExchangedTokens<Value> {
  /** Returns the value for a caller's token. `key`: digest of the token. */
  find(key: string, now: number): Value | undefined;
  keep(key: string, kept: Kept<Value>): void;
  size(): number;
}

export function createExchangedTokens<Value>(): ExchangedTokens<Value> {
  /** Tokens, ordered by last use. */
  const tokens = new FifoMap<string, Kept<Value>>();
  const ofCaller = new Map<string, Set<string>>();

  function remove(key: string): void {
    const kept = tokens.get(key);
    if (kept === undefined) return;
    tokens.delete(key);
    const own = ofCaller.get(kept.principal);
    own?.delete(key);
    if (own?.size === 0) ofCaller.delete(kept.principal);
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
    keep(key, kept) {
      remove(key);
      const own = ofCaller.get(kept.principal) ?? new Set();
      const [oldest] = own;
      if (own.size >= MAX_OF_CALLER && oldest !== undefined) remove(oldest);
      const least = tokens.size >= MAX_TOKENS ? tokens.oldest() : undefined;
      if (least !== undefined) remove(least.key);
      // The caller's set may have been removed with its last token.
      ofCaller.set(kept.principal, own.add(key));
      tokens.set(key, kept);
    },
    size: () => tokens.size,
  };
}
