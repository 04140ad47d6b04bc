/**
 * Statistics of the bench and the soak: median, percentile, spread and the slope of a straight line. All are pure and
 * take unsorted samples; an empty list gives NaN, which the table prints as `-`.
 */

export interface Summary {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Value at `share` (0 to 1) of the sorted samples, nearest rank. */
export function percentile(samples: ArrayLike<number>, share: number): number {
  const sorted = Float64Array.from(samples).sort();
  const rank = Math.max(0, Math.ceil(share * sorted.length) - 1);
  return sorted[rank] ?? Number.NaN;
}

export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export function summarize(samples: readonly number[]): Summary {
  const known = samples.filter((sample) => !Number.isNaN(sample));
  if (known.length === 0) return { median: Number.NaN, least: Number.NaN, most: Number.NaN };
  return { median: median(known), least: Math.min(...known), most: Math.max(...known) };
}

/**
 * Slope of the line through the points by Theil and Sen: the median of the slopes of all pairs. One garbage collection
 * or one busy second affects it little, unlike least squares.
 */
export function slope(points: readonly Point[]): number {
  const slopes: number[] = [];
  for (const [index, from] of points.entries()) {
    for (const to of points.slice(index + 1)) {
      if (to.x !== from.x) slopes.push((to.y - from.y) / (to.x - from.x));
    }
  }
  return median(slopes);
}
