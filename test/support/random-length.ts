/**
 * The length of random tests. `npm test` and `npm run test:all` run a tenth of it; `npm run test:long` and a file that is
 * run without the runner run all of it. `GATEWAY_TEST_LENGTH` is `short` or `full`.
 *
 * Properties of fast-check need no call of this: test/runner/fast-check.mjs shortens them.
 */

export const isShort = process.env["GATEWAY_TEST_LENGTH"] === "short";

/** Returns how many of `full` random cases to run; never fewer than `least`, for a test that needs so many to mean something. */
export function randomRuns(full: number, least = 1): number {
  return isShort ? Math.min(full, Math.max(least, Math.ceil(full / 10))) : full;
}

/**
 * Returns the least number of cases of a kind that a random test must have met, if it is `full` at full length. Fewer cases
 * spread wider, so a short run demands less than its share.
 */
export function randomFloor(full: number): number {
  return isShort ? Math.floor(full / 30) : full;
}
