/**
 * Cost units: whole, not negative, and small enough that every sum of them is a safe integer.
 *
 * Invariant: the result of `wholeUnits` is an integer from 0 to `MAX_UNITS`, the maximum of a replicated usage row; a report
 * with a larger value would be refused completely.
 */

export const MAX_UNITS = 1_000_000_000_000;

/** Returns whole units, rounded up so that a fraction is never free. Negative values and NaN become 0. */
export function wholeUnits(value: number): number {
  if (!(value > 0)) return 0;
  return value >= MAX_UNITS ? MAX_UNITS : Math.ceil(value);
}
