/**
 * Records measurements of this node in rings of buckets: a quarter of an hour in buckets of ten seconds, and an hour in buckets
 * of a minute. Source: design decisions, section 17.
 *
 * A series has a point for each bucket in which something happened. Memory is bounded: beyond `MAX_SERIES` series of a ring,
 * further ones are not recorded. When full, both rings take about 20 MB.
 */

interface HistorySpan {
  /** Width of a bucket, in milliseconds. */
  readonly bucketMs: number;
  /** Number of buckets that are kept. */
  readonly bucketCount: number;
}

export const QUARTER_HOUR: HistorySpan = { bucketMs: 10_000, bucketCount: 90 };
export const HOUR: HistorySpan = { bucketMs: 60_000, bucketCount: 60 };
export const MAX_SERIES = 1_000;

export interface Point<Measures> {
  readonly kind: string;
  readonly name: string;
  /** Beginning of the bucket, in milliseconds since 1970. */
  readonly at: number;
  readonly measures: Measures;
}

export interface History<Measures> {
  /** Adds the values of a finished bucket. Series without activity are absent. */
  add(points: readonly Point<Measures>[], at: number): void;
  /** Returns the points grouped by series, the oldest of each first. */
  read(): readonly Point<Measures>[];
  /** Calls the listener once, when the next bucket is finished. There is one listener at a time; `undefined` removes it. */
  awaitChange(listener: (() => void) | undefined): void;
}

export function createHistory<Measures>({ bucketMs, bucketCount }: HistorySpan): History<Measures> {
  const series = new Map<string, Point<Measures>[]>();
  let changeListener: (() => void) | undefined;
  const dropBefore = (before: number): void => {
    for (const [key, points] of series) {
      const first = points.findIndex(({ at }) => at >= before);
      if (first === -1) series.delete(key);
      else points.splice(0, first);
    }
  };
  return {
    add(points, at) {
      dropBefore(at - (bucketCount - 1) * bucketMs);
      for (const point of points) {
        const key = `${point.kind}\0${point.name}`;
        const known = series.get(key);
        if (known !== undefined) known.push(point);
        else if (series.size < MAX_SERIES) series.set(key, [point]);
      }
      const listener = changeListener;
      changeListener = undefined;
      listener?.();
    },
    read: () => [...series.values()].flat(),
    awaitChange(listener) {
      changeListener = listener;
    },
  };
}
