/**
 * Tokens that were exchanged, each for one caller's token, and refusals for a moment. What was used longest ago goes first
 * where there are too many, of one caller as of all. Times are of the monotonic clock, in milliseconds.
 */

/** Of all callers, and of one. */
const MAX_TOKENS = 10_000;
const MAX_OF_CALLER = 100;

export interface Kept<Value> {
  readonly value: Value;
  readonly until: number;
  readonly principal: string;
}

export interface ExchangedTokens<Value> {
  /** `key`: a digest of the caller's token. */
  find(key: string, now: number): Value | undefined;
  keep(key: string, kept: Kept<Value>): void;
  size(): number;
}

export function createExchangedTokens<Value>(): ExchangedTokens<Value> {
  /** In the order of use. */
  const tokens = new Map<string, Kept<Value>>();
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
      const [least] = tokens.keys();
      if (tokens.size >= MAX_TOKENS && least !== undefined) remove(least);
      // It may have been let go with the last of its tokens.
      ofCaller.set(kept.principal, own.add(key));
      tokens.set(key, kept);
    },
    size: () => tokens.size,
  };
}
