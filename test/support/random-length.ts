/**
 * Length of random tests. `npm test` and `npm run test:all` run a tenth; `npm run test:long`, and a file run without
 * the runner, run all of it. `GATEWAY_TEST_LENGTH` is `short` or `full`.
 *
 * Properties of fast-check need not use this: test/runner/fast-check.mjs shortens them.
 */

export const isShort = process.env["GATEWAY_TEST_LENGTH"] === "short";

/**
 * Returns how many of `full` random cases to run; at least `least`, for a test that needs that many to be meaningful.
 */
export function randomRuns(full: number, least = 1): number {
  return isShort ? Math.min(full, Math.max(least, Math.ceil(full / 10))) : full;
}

/**
 * Returns how many cases of a kind a random test must have met, given that it is `full` at full length. A short run
 * requires less than its share, because fewer cases are spread more unevenly.
 */
export function randomFloor(full: number): number {
  return isShort ? Math.floor(full / 30) : full;
}
