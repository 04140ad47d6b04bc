/** Buckets of ten seconds over the last quarter of an hour, and values drawn as a band of bars. */

import { cutMiddle, padTo } from "../format/cut-text.ts";
import { shown } from "../format/labeled-lines.ts";
import { short } from "../format/numbers.ts";
import { sparkline } from "../format/sparkline.ts";
import { type Line, span, type Tone } from "../model/text.ts";

const BUCKET_MS = 10_000;
export const BUCKETS = 90;
export const REACH_MS = BUCKETS * BUCKET_MS;

const LABEL_CELLS = 24;
const SUM_CELLS = 9;
/** Width of the largest value of a bucket, which is the height of the highest bar. */
const SCALE_CELLS = 10;

/** Returns the number of the current, incomplete bucket. `now` is in milliseconds since 1970. */
export const newestBucket = (now: number): number => Math.floor(now / BUCKET_MS);

/**
 * Returns the index of the bucket of a moment, the oldest first; negative if it is before all buckets. A moment in the
 * future, from a clock that is ahead, belongs to the newest bucket.
 */
export const bucketAt = (time: number, newest: number): number =>
  Math.min(BUCKETS - 1, BUCKETS - 1 - (newest - Math.floor(time / BUCKET_MS)));

export const zeros = (): number[] => Array.from({ length: BUCKETS }, () => 0);
export const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

export interface BandSize {
  readonly columns: number;
  readonly isAscii: boolean;
}

/** Draws a band: the name, the bars, the total, and the value of the highest bar. */
export function band(
  name: string,
  values: readonly (number | null)[],
  sum: string,
  { columns, isAscii }: BandSize,
  tone: Tone = "plain",
  scale: (most: number) => string = short,
): Line {
  const cells = Math.max(0, Math.min(values.length, columns - LABEL_CELLS - SUM_CELLS - SCALE_CELLS));
  const most = values.reduce<number>((largest, value) => Math.max(largest, value ?? 0), 0);
  return [
    shown(padTo(cutMiddle(shown(name).text, LABEL_CELLS - 1), LABEL_CELLS), "dim"),
    span(sparkline(values.slice(values.length - cells), isAscii), tone),
    span(sum.padStart(SUM_CELLS), tone),
    ...(most > 0 ? [span(` max ${scale(most)}`, "dim")] : []),
  ];
}
