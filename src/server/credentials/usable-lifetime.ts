/**
 * Treats a credential as expired shortly before it expires, so that it does not expire on its way. The margin is at most 10 %
 * of its lifetime.
 */
const MIN_REMAINING_MS = 5_000;
const MIN_REMAINING_SHARE = 0.1;

/** Returns how long a credential with a lifetime of `lifeMs` is presented, in milliseconds. */
export function usableMs(lifeMs: number): number {
  return lifeMs - Math.min(MIN_REMAINING_MS, lifeMs * MIN_REMAINING_SHARE);
}
