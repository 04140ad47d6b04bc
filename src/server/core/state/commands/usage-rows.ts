/**
 * Rows of budgets: `usage/<bucket>/<window ms>/<window>` is what is spent and granted of one limit in one window,
 * `alloc/<node>/<bucket>/<window ms>/<window>` what one node holds of it. Costs are in cost units. Windows are counted
 * from the Unix epoch. Source: cluster reference, 7.2.
 */

import { integer, label, object, optional } from "../fields.ts";
import { digits, keyPart, rowFormat } from "../row-format.ts";

/** A bound that keeps every sum a safe integer, and none that a budget meets. */
export const MAX_UNITS = 1_000_000_000_000;
/** Ten years. */
export const MAX_WINDOW_MS = 315_576_000_000;

/** Windows that are kept after the one they follow on: late settlements are still counted. */
const KEPT_WINDOWS = 2;

export const unit = integer(0, MAX_UNITS);
export const bucketName = label(512);
export const windowMs = integer(1, MAX_WINDOW_MS);

const usage = object({
  bucket: bucketName,
  window_ms: windowMs,
  window: integer(),
  limit: unit,
  /** Revision of the configuration that the limit is of; a higher one replaces it. */
  limit_rev: integer(),
  /** Charged to holders that are closed: what they had been granted, or spent where that is more. */
  used: integer(),
  /** Charged to open holders, in the same way. `used + open` is at most the limit wherever a grant is made. */
  open: integer(),
  /** Of the open holders: granted and not given back. */
  granted: integer(),
  /** Of the open holders: reported as spent. */
  spent: integer(),
  /** Of `used`: charged for what nobody told, as its holder ended before it could; left out while it is 0. */
  untold: optional(integer()),
});

const holding = object({
  bucket: bucketName,
  window_ms: windowMs,
  window: integer(),
  node: label(),
  inc: integer(),
  /** These three only grow. `granted - returned` is what the node may spend in all. */
  granted: integer(),
  returned: integer(),
  spent: integer(),
  /** These three are of the newest report that said the first; left out before. `pledge`: see `pledgedOf`. */
  pledge: optional(integer()),
  /** Number of that report. */
  seq: optional(integer()),
  /** Log time of that report. */
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

/** Both numbers as 16 digits: a safe integer has no more. */
const windowPart = ({ bucket, window_ms, window }: WindowOf): string =>
  `${keyPart(bucket)}/${digits(window_ms, 16)}/${digits(window, 16)}`;

export const usageRowKey = (of: WindowOf): string => `usage/${windowPart(of)}`;
export const holdingsOf = (node: string): string => `alloc/${keyPart(node)}/`;
export const holdingRowKey = (node: string, of: WindowOf): string => `${holdingsOf(node)}${windowPart(of)}`;

/** When rows of a window go, read from the end of their key. Past the safe integers it is never. */
export function windowDue(key: string): number {
  const [window = "", length = ""] = key.split("/").reverse();
  return (Number(window) + 1 + KEPT_WINDOWS) * Number(length);
}

/**
 * What a holder may have spent when it is not heard of any more: what it said that it would not pass before its next answered
 * report, and its whole grant where it said nothing.
 */
export const pledgedOf = (holding: HoldingRow): number =>
  Math.max(holding.spent, Math.min(holding.granted - holding.returned, holding.pledge ?? Number.POSITIVE_INFINITY));

/** What a holder is charged: its grant in full until it is given back, and more where it spent more. */
export const chargeOf = ({ granted, returned, spent }: Pick<HoldingRow, "granted" | "returned" | "spent">): number =>
  Math.max(granted - returned, spent);
