/**
 * A quarter of an hour of what was measured, in buckets of ten seconds. Source: design decisions, section 17.
 *
 * A series has a point for each bucket in which something happened. What is held is bounded: past `MAX_SERIES` series at
 * once no further one is taken up, 90 points each, some 12 MB where all of them are full.
 */

export const BUCKET_MS = 10_000;
export const KEPT_BUCKETS = 90;
export const MAX_SERIES = 1_000;

export interface Point<Measures> {
  readonly kind: string;
  readonly name: string;
  /** Begin of the bucket, milliseconds since 1970. */
  readonly at: number;
  readonly measures: Measures;
}

export interface History<Measures> {
  /** Adds the values of a finished bucket. Series without activity are absent. */
  add(points: readonly Point<Measures>[], at: number): void;
  /** Grouped by series, each oldest first. */
  read(): readonly Point<Measures>[];
  /** Calls back once, when the next bucket is finished. One listener at a time; `undefined` removes it. */
  awaitChange(listener: (() => void) | undefined): void;
}

export function createHistory<Measures>(): History<Measures> {
  const series = new Map<string, Point<Measures>[]>();
  let awaiting: (() => void) | undefined;
  const forget = (before: number): void => {
    for (const [key, points] of series) {
      const kept = points.findIndex(({ at }) => at >= before);
      if (kept === -1) series.delete(key);
      else points.splice(0, kept);
    }
  };
  return {
    add(points, at) {
      forget(at - (KEPT_BUCKETS - 1) * BUCKET_MS);
      for (const point of points) {
        const key = `${point.kind}\0${point.name}`;
        const known = series.get(key);
        if (known !== undefined) known.push(point);
        else if (series.size < MAX_SERIES) series.set(key, [point]);
      }
      const listener = awaiting;
      awaiting = undefined;
      listener?.();
    },
    read: () => [...series.values()].flat(),
    awaitChange(listener) {
      awaiting = listener;
    },
  };
}
