/** Nothing is presented that may end on its way; of what lives for seconds, no more than a tenth is given up for that. */
const LEAST_LEFT_MS = 5_000;
const LEAST_LEFT_SHARE = 0.1;

/** For how long what lives for `lifeMs` is presented. Milliseconds. */
export function usableMs(lifeMs: number): number {
  return lifeMs - Math.min(LEAST_LEFT_MS, lifeMs * LEAST_LEFT_SHARE);
}
