/**
 * Cost units: whole, not negative, and small enough that every sum of them is a safe integer.
 *
 * Invariant: the result of `wholeUnits` is an integer from 0 to `MAX_UNITS`, the most that a row of the replicated usage holds;
 * a report beyond it would be refused as a whole.
 */

export const MAX_UNITS = 1_000_000_000_000;

/** Rounded up, so that a fraction is never free of charge. What is no number, or is negative, is 0. */
export function wholeUnits(value: number): number {
  if (!(value > 0)) return 0;
  return value >= MAX_UNITS ? MAX_UNITS : Math.ceil(value);
}
