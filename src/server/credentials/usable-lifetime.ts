/**
 * Treats a credential as expired shortly before it expires, so that it does not expire on its way. The margin is at most 10 %
 * of its lifetime.
 */
const LEAST_LEFT_MS = 5_000;
const LEAST_LEFT_SHARE = 0.1;

/** Returns how long a credential with a lifetime of `lifeMs` is presented, in milliseconds. */
export function usableMs(lifeMs: number): number {
  return lifeMs - Math.min(LEAST_LEFT_MS, lifeMs * LEAST_LEFT_SHARE);
}
