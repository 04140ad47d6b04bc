/**
 * Recent requests of a row, or above a table: per ten seconds of the last quarter of an hour, how many succeeded, were refused,
 * or failed; and the last that did not succeed. Based on the requests that nodes keep, which under load cover less time.
 */

import type { RequestRecord } from "../../admin-api/index.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { count, milliseconds, plural } from "../format/numbers.ts";
import { clock, humanDuration } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { createMemo } from "../model/remember.ts";
import { type Line, span } from "../model/text.ts";
import { type BandSize, BUCKETS, band, bucketAt, newestBucket, REACH_MS, total, zeros } from "./ten-second-buckets.ts";

interface Buckets {
  /** One count per ten seconds, oldest first; the last bucket is incomplete. */
  readonly succeeded: readonly number[];
  readonly refused: readonly number[];
  readonly failed: readonly number[];
  /** Longest time to the first byte, in milliseconds; null if none was measured. */
  readonly firstByte: readonly (number | null)[];
  /** Age of the oldest kept request, in milliseconds, if that is less than a quarter of an hour. */
  readonly coveredMs: number | undefined;
}

/** Returns whether the provider or the gateway failed. A client that disconnected is not a failure. */
export const hasFailed = ({ status }: RequestRecord): boolean => status >= 500 && status < 600;
const wasRefused = ({ status, code }: RequestRecord): boolean =>
  (status >= 400 && status < 500 && status !== 499) || (status < 400 && code !== null);

const MEMO = createMemo<Buckets>(8);

/**
 * Counts the rows that `which` accepts; `name` identifies `which` in the cache. Recomputed when the rows change, and every ten
 * seconds.
 */
export function requestBuckets(
  rows: readonly RequestRecord[],
  now: number,
  name: string,
  which: (row: RequestRecord) => boolean,
): Buckets {
  const newest = newestBucket(now);
  return MEMO([rows, newest, name], () => {
    const [succeeded, refused, failed] = [zeros(), zeros(), zeros()];
    const firstByte: (number | null)[] = Array.from({ length: BUCKETS }, () => null);
    let oldest = now;
    for (const row of rows) {
      const time = Date.parse(row.time);
      oldest = Math.min(oldest, time);
      const at = bucketAt(time, newest);
      if (at < 0 || !which(row)) continue;
      const counts = hasFailed(row) ? failed : wasRefused(row) ? refused : succeeded;
      counts[at] = (counts[at] ?? 0) + 1;
      if (row.ttfb_ms !== null) firstByte[at] = Math.max(firstByte[at] ?? 0, row.ttfb_ms);
    }
    return { succeeded, refused, failed, firstByte, coveredMs: now - oldest < REACH_MS ? now - oldest : undefined };
  });
}

/** Draws the last quarter of an hour: three bands and the time to the first byte. */
export function bucketLines(buckets: Buckets, size: BandSize): readonly Line[] {
  const { succeeded, refused, failed, firstByte } = buckets;
  const slowest = firstByte.reduce<number | null>((most, it) => (it !== null && it > (most ?? -1) ? it : most), null);
  return [
    band("succeeded", succeeded, count(total(succeeded)), size),
    band("refused", refused, count(total(refused)), size, total(refused) === 0 ? "dim" : "warn"),
    band("failed", failed, count(total(failed)), size, total(failed) === 0 ? "dim" : "fail"),
    band("first byte", firstByte, milliseconds(slowest), size, "plain", milliseconds),
  ];
}

/** Describes the bands in words, for a pane and for a screen reader. */
export function bucketLine({ succeeded, refused, failed, coveredMs }: Buckets, what: string): Line {
  const [fine, denied, broken] = [total(succeeded), total(refused), total(failed)];
  if (coveredMs === 0) return labeledLine("last 15m", span(`no ${what} is kept`, "dim"));
  return labeledLine(
    "last 15m",
    span(`${plural(fine + denied + broken, what)}: ${count(fine)} succeeded, `),
    span(`${count(denied)} refused`, denied === 0 ? "plain" : "warn"),
    span(", "),
    span(`${count(broken)} failed`, broken === 0 ? "plain" : "fail"),
    span(coveredMs === undefined ? "" : `; ${humanDuration(coveredMs)} are kept`, "dim"),
  );
}

/** Returns the newest requests that did not succeed, newest first. */
export function lastBadLines(
  rows: readonly RequestRecord[],
  { now }: Pick<Context, "now">,
  { which, most }: { readonly which: (row: RequestRecord) => boolean; readonly most: number },
): readonly Line[] {
  return rows
    .filter((row) => which(row) && (hasFailed(row) || wasRefused(row)))
    .sort((a, b) => Date.parse(b.time) - Date.parse(a.time))
    .slice(0, most)
    .map((row) =>
      labeledLine(
        "bad",
        shown(`${clock(Date.parse(row.time), now)}  `),
        span(`${row.status} `, hasFailed(row) ? "fail" : "warn"),
        shown([row.code, row.route, row.caller, row.decided_by].filter((it) => it !== null).join("  ")),
        shown(`  ${milliseconds(row.total_ms)} on ${row.node}`, "dim"),
      ),
    );
}
