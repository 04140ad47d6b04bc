/** Attempts at providers over the last 15 minutes as the nodes measured them, available immediately after start. */

import type { HistoryRecord } from "../../admin-api/index.ts";
import type { Context } from "../model/context.ts";
import { remember } from "../model/remember.ts";

const BUCKET_MS = 10_000;
const KEPT_BUCKETS = 90;

/** One value per bucket, oldest first; 0 if there was none. */
export interface TrafficHistory {
  readonly attempts: readonly number[];
  readonly failures: readonly number[];
  readonly inFlight: readonly number[];
}

/** Returns the history; `undefined` if it is not known, for example because the node runs an older version. */
export function trafficHistory({ data, now }: Pick<Context, "data" | "now">): TrafficHistory | undefined {
  const rows = data.get({ id: "list_history" })?.value;
  return rows === undefined ? undefined : historyIn(rows, Math.floor(now / BUCKET_MS) * BUCKET_MS - BUCKET_MS);
}

/** Sums the rows by bucket. `last` is the start of the newest bucket by the local clock, in milliseconds since 1970. */
const historyIn = remember((rows: readonly HistoryRecord[], last: number): TrafficHistory => {
  const times = rows.map(({ time }) => Date.parse(time));
  // The clock of the node may be ahead of the local one.
  const newest = times.reduce((most, at) => Math.max(most, at), last);
  const of = (measure: (row: HistoryRecord) => number | null): readonly number[] => {
    const sums = Array.from({ length: KEPT_BUCKETS }, () => 0);
    for (const [at, row] of rows.entries()) {
      const place = KEPT_BUCKETS - 1 - Math.round((newest - (times[at] ?? 0)) / BUCKET_MS);
      if (row.kind === "backends" && place >= 0) sums[place] = (sums[place] ?? 0) + (measure(row) ?? 0);
    }
    return sums;
  };
  return {
    attempts: of(({ attempts }) => attempts),
    failures: of(({ failures }) => failures),
    inFlight: of(({ in_flight: inFlight }) => inFlight),
  };
});
