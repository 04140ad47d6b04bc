/**
 * Log-linear histogram of times, which yields quantiles without a list of values. Each doubling from 256 µs to 18 minutes has
 * twelve buckets of equal width, so that a quantile is within 5 % of the recorded time. All shorter times share one bucket;
 * longer ones count as the longest.
 */

const FIRST_EXPONENT = 8;
const LAST_EXPONENT = 30;
const BUCKETS_PER_DOUBLING = 12;

const MIN_US = 2 ** FIRST_EXPONENT;
const MAX_US = 2 ** LAST_EXPONENT - 1;

export const BUCKETS = 1 + (LAST_EXPONENT - FIRST_EXPONENT) * BUCKETS_PER_DOUBLING;

/** Returns the bucket of a time. `ms` must not be negative. */
export function bucketOf(ms: number): number {
  const us = Math.min(MAX_US, Math.floor(ms * 1_000));
  if (us < MIN_US) return 0;
  const exponent = 31 - Math.clz32(us);
  const low = 2 ** exponent;
  return 1 + (exponent - FIRST_EXPONENT) * BUCKETS_PER_DOUBLING + Math.floor(((us - low) * BUCKETS_PER_DOUBLING) / low);
}

/** Returns the time reported for a bucket, in milliseconds: the harmonic mean, with the same relative error at both bounds. */
function bucketTimeMs(bucket: number): number {
  if (bucket === 0) return MIN_US / 2 / 1_000;
  const step = (bucket - 1) % BUCKETS_PER_DOUBLING;
  const low = 2 ** (FIRST_EXPONENT + (bucket - 1 - step) / BUCKETS_PER_DOUBLING);
  const lower = low + (step * low) / BUCKETS_PER_DOUBLING;
  const upper = lower + low / BUCKETS_PER_DOUBLING;
  return (2 * lower * upper) / (lower + upper) / 1_000;
}

/**
 * Returns a quantile in milliseconds, rounded to three digits, or `null` if nothing was recorded. `share`: rank of the quantile,
 * above 0 and at most 1.
 */
export function quantile(counts: Float64Array, share: number): number | null {
  let total = 0;
  for (const count of counts) total += count;
  if (total === 0) return null;
  let rank = Math.ceil(share * total);
  for (const [bucket, count] of counts.entries()) {
    rank -= count;
    if (rank <= 0) return Number(bucketTimeMs(bucket).toPrecision(3));
  }
  return null;
}
