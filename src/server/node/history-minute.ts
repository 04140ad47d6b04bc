/**
 * Combines the points of the ten-second buckets of a minute into one point per series. Counts are sums; requests in flight and
 * the applied index are the largest values; the 95th percentile is the largest of its buckets; other times and sizes are means,
 * weighted by attempts for the median of the first byte.
 */

import type { HistoryRecord } from "../admin/index.ts";
import type { Point } from "../usage/index.ts";

export type Measures = Partial<Omit<HistoryRecord, "kind" | "name" | "time" | "node">>;

const SUMS = [
  "attempts",
  "failures",
  "input_tokens",
  "output_tokens",
  "used",
  "refused",
  "decisions",
  "findings",
] as const satisfies readonly (keyof Measures)[];
const LARGEST = ["in_flight", "applied_index", "ttfb_p95_ms"] as const satisfies readonly (keyof Measures)[];

/** Returns the points of a minute. `at`: its beginning, in milliseconds since 1970. */
export function minutePoints(points: readonly Point<Measures>[], at: number): readonly Point<Measures>[] {
  const series = new Map<string, Point<Measures>[]>();
  for (const point of points) {
    const key = `${point.kind}\0${point.name}`;
    const known = series.get(key);
    if (known === undefined) series.set(key, [point]);
    else known.push(point);
  }
  return [...series.values()].flatMap((parts) => {
    const [first] = parts;
    return first === undefined ? [] : [{ ...first, at, measures: combined(parts.map(({ measures }) => measures)) }];
  });
}

type NumberKey = Exclude<keyof Measures, "types">;

function combined(parts: readonly Measures[]): Measures {
  const values = (key: NumberKey): readonly number[] => parts.flatMap((part) => part[key] ?? []);
  const each = (keys: readonly NumberKey[], of: (values: readonly number[]) => number): Measures =>
    Object.fromEntries(
      keys.flatMap((key) => {
        const known = values(key);
        return known.length === 0 ? [] : [[key, of(known)]];
      }),
    );
  return {
    ...each(SUMS, sum),
    ...each(LARGEST, (known) => Math.max(...known)),
    ...each(["held_bytes"], (known) => Math.round(sum(known) / known.length)),
    ...each(["commit_ms"], (known) => Number((sum(known) / known.length).toPrecision(3))),
    ...medianOf(parts),
    ...typesOf(parts),
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function medianOf(parts: readonly Measures[]): Measures {
  const known = parts.flatMap(({ ttfb_p50_ms: median, attempts }) =>
    typeof median === "number" ? [{ median, weight: Math.max(1, attempts ?? 0) }] : [],
  );
  if (known.length === 0) return {};
  const weight = sum(known.map((it) => it.weight));
  return { ttfb_p50_ms: Math.round(sum(known.map((it) => it.median * it.weight)) / weight) };
}

function typesOf(parts: readonly Measures[]): Measures {
  const sums = new Map<string, number>();
  for (const { types } of parts) {
    for (const { type, findings } of types ?? []) sums.set(type, (sums.get(type) ?? 0) + findings);
  }
  if (sums.size === 0) return {};
  return {
    types: [...sums].map(([type, findings]) => ({ type, findings })).sort((a, b) => b.findings - a.findings),
  };
}
