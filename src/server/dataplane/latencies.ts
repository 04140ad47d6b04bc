/**
 * Times as buckets, so that a quantile costs no list of them. Buckets are log-linear: twelve of equal width in each
 * doubling from 256 µs to 18 minutes, so that a time read back is within 5 % of the one recorded. What is shorter shares one
 * bucket, what is longer counts as the longest.
 */

const FIRST_EXPONENT = 8;
const LAST_EXPONENT = 30;
const STEPS = 12;

const MIN_US = 2 ** FIRST_EXPONENT;
const MAX_US = 2 ** LAST_EXPONENT - 1;

export const BUCKETS = 1 + (LAST_EXPONENT - FIRST_EXPONENT) * STEPS;

/** `ms`: not negative. */
export function bucketOf(ms: number): number {
  const us = Math.min(MAX_US, Math.floor(ms * 1_000));
  if (us < MIN_US) return 0;
  const exponent = 31 - Math.clz32(us);
  const low = 2 ** exponent;
  return 1 + (exponent - FIRST_EXPONENT) * STEPS + Math.floor(((us - low) * STEPS) / low);
}

/** The time that stands for a bucket, in milliseconds: as far, in proportion, from its lower bound as from its upper. */
function timeOf(bucket: number): number {
  if (bucket === 0) return MIN_US / 2 / 1_000;
  const step = (bucket - 1) % STEPS;
  const low = 2 ** (FIRST_EXPONENT + (bucket - 1 - step) / STEPS);
  const lower = low + (step * low) / STEPS;
  const upper = lower + low / STEPS;
  return (2 * lower * upper) / (lower + upper) / 1_000;
}

/** Milliseconds to three digits; null where nothing was recorded. `share`: above 0, at most 1. */
export function quantile(counts: Float64Array, share: number): number | null {
  let total = 0;
  for (const count of counts) total += count;
  if (total === 0) return null;
  let rank = Math.ceil(share * total);
  for (const [bucket, count] of counts.entries()) {
    rank -= count;
    if (rank <= 0) return Number(timeOf(bucket).toPrecision(3));
  }
  return null;
}
