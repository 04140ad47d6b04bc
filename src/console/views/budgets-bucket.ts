/**
 * Texts about a budget bucket, wherever it is shown: its name, state and rate. Costs are in cost units, times in milliseconds
 * since 1970.
 */

import type { BudgetRecord, RefusalRecord } from "../../admin-api/index.ts";
import { escapeControls, parseDuration } from "../../base/index.ts";
import { count, percent, short } from "../format/numbers.ts";
import { bar } from "../format/sparkline.ts";
import { humanDuration } from "../format/times.ts";
import { withUnknownWords } from "../format/word-table.ts";
import type { Line, Tone } from "../model/text.ts";

/** Returns the id of a row; a bucket's name has no slash. */
export const bucketId = ({ budget, bucket }: Pick<BudgetRecord, "budget" | "bucket">): string => `${budget}/${bucket}`;

export const isShared = ({ bucket }: Pick<BudgetRecord, "bucket">): boolean => bucket === "shared";

/** Returns the used share of the limit; a limit of 0 is fully used. */
export const usedFraction = ({ limit, used }: Pick<BudgetRecord, "limit" | "used">): number =>
  limit <= 0 ? 1 : used / limit;

/** Returns the used percentage, never `100.0` before everything is spent. */
export const usedPercent = (row: Pick<BudgetRecord, "limit" | "used">): string => {
  const fraction = usedFraction(row);
  return percent(fraction < 1 ? Math.min(fraction, 0.999) : fraction);
};

export const BUDGET_STATES: Readonly<Record<BudgetRecord["status"], { mark: string; word: string; tone: Tone }>> =
  withUnknownWords(
    {
      ok: { mark: "", word: "ok", tone: "plain" },
      low: { mark: "~", word: "hot", tone: "warn" },
      exhausted: { mark: "!", word: "SPENT", tone: "fail" },
      refusing: { mark: "!", word: "REFUSES", tone: "fail" },
    },
    (word) => ({ mark: "~", word, tone: "warn" }),
  );

/** Returns whether nothing is left. A refusing bucket may have something left, but too little for the request. */
export const isSpent = ({ status, remaining }: Pick<BudgetRecord, "status" | "remaining">): boolean =>
  status === "exhausted" || (status === "refusing" && remaining === 0);

/** Output tokens that a request without `max_tokens` reserves. */
const DEFAULT_OUTPUT_TOKENS = 16_384;

/** Cause of refusals for which neither the limit nor a client can do anything. */
export const NOT_GRANTED = "the cluster granted its node no units in time (check the quorum and the leader's disk)";

/**
 * Explains why a budget refuses although something is left: a request reserves its maximum cost, or the cluster granted its node
 * nothing in time. Empty if nothing is left. `refusals`: those of the last minute decide which of the two it was.
 */
export function refusalCause(
  row: BudgetRecord,
  refusals: readonly Pick<RefusalRecord, "cause" | "cause_name" | "code" | "last_minute">[] = [],
): string {
  if (isSpent(row) || row.remaining === 0) return "";
  const codes = new Set(
    refusals.flatMap(({ cause, cause_name: name, code, last_minute: minute }) =>
      cause === "budget" && name === row.budget && minute > 0 ? [code] : [],
    ),
  );
  const tooLittle = `each reserves more than the ${count(row.remaining)} left: up to a token per input byte, plus max_tokens (${count(DEFAULT_OUTPUT_TOKENS)} if unset)`;
  if (codes.has("budget_unavailable") === codes.has("budget_exhausted")) return `${tooLittle}; or ${NOT_GRANTED}`;
  return codes.has("budget_unavailable") ? NOT_GRANTED : tooLittle;
}

const WHOLE_DIGEST = 16;

/** Returns the owner of a bucket: all callers, a key, or a token, of which the list has a digest. */
export function ownerOf({ bucket, key }: Pick<BudgetRecord, "bucket" | "key">): string {
  if (key !== null) return escapeControls(`key ${key}`);
  const name = bucket.length <= WHOLE_DIGEST ? bucket : `${bucket.slice(0, 8)}..${bucket.slice(-4)}`;
  return escapeControls(name);
}

/** Maximum width of a column of whole numbers; wider numbers are shortened. */
const WHOLE_CELLS = "999,999,999".length;

/** Returns the number format of a column: all whole with thousands separators, or all shortened. */
export function unitsFormat(largest: number): (value: number) => string {
  return count(largest).length <= WHOLE_CELLS ? (value) => count(value) : short;
}

type Burn =
  /** The window has ended: `resets_at` has passed, and a newer reading is due. */
  | { readonly kind: "over" }
  | { readonly kind: "spent" }
  | { readonly kind: "unused" }
  /** Too little of the window has passed for an average. */
  | { readonly kind: "early" }
  | { readonly kind: "lasts"; readonly perHour: number }
  | { readonly kind: "exhausts"; readonly perHour: number; readonly inMs: number };

const HOUR_MS = 3_600_000;
/** Minimum elapsed share of a window; before it, a burst would look like a rate. */
const MIN_FRACTION = 0.01;

/** Computes the rate from the used amount and the elapsed part of the window, because the API has no history of a bucket. */
export function burnOf(row: BudgetRecord, now: number): Burn {
  const windowMs = parseDuration(row.window) ?? 0;
  const left = Date.parse(row.resets_at) - now;
  if (!(left > 0)) return { kind: "over" };
  if (isSpent(row)) return { kind: "spent" };
  if (row.used <= 0) return { kind: "unused" };
  const passed = windowMs - left;
  if (!(passed > windowMs * MIN_FRACTION)) return { kind: "early" };
  const perMs = row.used / passed;
  const inMs = row.remaining / perMs;
  const perHour = perMs * HOUR_MS;
  return inMs < left ? { kind: "exhausts", perHour, inMs } : { kind: "lasts", perHour };
}

export function burnText(row: BudgetRecord, now: number): string {
  const burn = burnOf(row, now);
  const resets = `the window ends in ${humanDuration(Date.parse(row.resets_at) - now)}`;
  switch (burn.kind) {
    case "over":
      return "the window has ended; the next update shows the new one";
    case "spent":
      return `spent; ${resets}`;
    case "unused":
      return `nothing spent; ${resets}`;
    case "early":
      return `the window has just begun: too early for an estimate; ${resets}`;
    case "lasts":
      return `${rate(burn.perHour)}: lasts beyond the reset at this window's average, ${resets} (estimate)`;
    case "exhausts":
      return `${rate(burn.perHour)}: exhausted in ${humanDuration(burn.inMs)} at this window's average, ${resets} (estimate)`;
    default:
      return burn satisfies never;
  }
}

const rate = (perHour: number): string => `${perHour < 10 ? count(perHour, 1) : count(Math.round(perHour))} an hour`;

const BAR_CELLS = 20;

export const usedBar = (row: BudgetRecord, isAscii: boolean): string => bar(usedFraction(row), BAR_CELLS, isAscii);

/** Returns the bucket in one line, for panes. */
export function bucketLine(row: BudgetRecord, now: number, isAscii: boolean): Line {
  const { mark, word, tone } = BUDGET_STATES[row.status];
  const resets = humanDuration(Date.parse(row.resets_at) - now);
  return [
    { text: `${escapeControls(row.budget)} (${ownerOf(row)})  ` },
    { text: usedBar(row, isAscii), tone },
    { text: `  ${mark}${usedPercent(row)} %`, tone },
    { text: `  ${count(row.used)} of ${count(row.limit)} in ${escapeControls(row.window)}, resets in ${resets}` },
    ...(row.status === "ok" ? [] : [{ text: `  ${word}`, tone }]),
  ];
}
