/**
 * Rows of budgets: `usage/<bucket>/<window ms>/<window>` contains what is spent and granted of one limit in one window,
 * `alloc/<node>/<bucket>/<window ms>/<window>` one node's share of it. Costs are in cost units. Windows are counted from the
 * Unix epoch. Source: cluster reference, 7.2.
 */

import { integer, label, object, optional } from "../fields.ts";
import { digits, keyPart, rowFormat } from "../row-format.ts";

/** Maximum of a count: keeps every sum a safe integer, and is never reached by a budget. */
const MAX_UNITS = 1_000_000_000_000;
/** Maximum length of a window: ten years. */
const MAX_WINDOW_MS = 315_576_000_000;

/** Number of windows for which rows are kept after the end of their window, so that late settlements are counted. */
const KEPT_WINDOWS = 2;

export const unit = integer(0, MAX_UNITS);
export const bucketName = label(512);
export const windowMs = integer(1, MAX_WINDOW_MS);

const usage = object({
  bucket: bucketName,
  window_ms: windowMs,
  window: integer(),
  limit: unit,
  /** Revision of the configuration that has the limit; a higher one replaces it. */
  limit_rev: integer(),
  /** Units charged to closed holders: their grants, or their spending if that is more. */
  used: integer(),
  /** Units charged to open holders in the same way. Wherever a grant is made, `used + open` is at most the limit. */
  open: integer(),
  /** Units granted to current holders and not returned. */
  granted: integer(),
  /** Units that current holders reported as spent. */
  spent: integer(),
  /** Part of `used` that was charged without a report, because its holder ended first; absent while it is 0. */
  untold: optional(integer()),
});

const holding = object({
  bucket: bucketName,
  window_ms: windowMs,
  window: integer(),
  node: label(),
  inc: integer(),
  /**
   * Units granted so far. `granted`, `returned` and `spent` only grow; `granted - returned` is what the node may spend in
   * total.
   */
  granted: integer(),
  returned: integer(),
  spent: integer(),
  /** Pledge of the newest report that had one, absent before; `seq` and `heard` are from the same report. See `pledgedOf`. */
  pledge: optional(integer()),
  /** Number of the report with the pledge. */
  seq: optional(integer()),
  /** Log time of the report with the pledge. */
  heard: optional(integer()),
});

export type UsageRow = ReturnType<typeof usage>;
export type HoldingRow = ReturnType<typeof holding>;
export const usageRows = rowFormat(usage);
export const holdingRows = rowFormat(holding);

export interface WindowOf {
  readonly bucket: string;
  readonly window_ms: number;
  readonly window: number;
}

/** Returns the end of a key. Both numbers have 16 digits, enough for any safe integer. */
const windowPart = ({ bucket, window_ms, window }: WindowOf): string =>
  `${keyPart(bucket)}/${digits(window_ms, 16)}/${digits(window, 16)}`;

export const usageRowKey = (of: WindowOf): string => `usage/${windowPart(of)}`;
export const holdingsOf = (node: string): string => `alloc/${keyPart(node)}/`;
export const holdingRowKey = (node: string, of: WindowOf): string => `${holdingsOf(node)}${windowPart(of)}`;

/** Returns when the rows of a window expire, computed from the end of their key; always a safe integer. */
export function windowDue(key: string): number {
  const [window = "", length = ""] = key.split("/").reverse();
  return (Number(window) + 1 + KEPT_WINDOWS) * Number(length);
}

/**
 * Returns what a silent holder may have spent: the pledge that it would not exceed before its next answered report, or its
 * whole grant if it made none.
 */
export const pledgedOf = (holding: HoldingRow): number =>
  Math.max(holding.spent, Math.min(holding.granted - holding.returned, holding.pledge ?? Number.POSITIVE_INFINITY));

/** Returns what a holder is charged: its whole grant until it is returned, or more if it spent more. */
export const chargeOf = ({ granted, returned, spent }: Pick<HoldingRow, "granted" | "returned" | "spent">): number =>
  Math.max(granted - returned, spent);
