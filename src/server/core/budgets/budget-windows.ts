/**
 * Windows: fixed periods, counted from the Unix epoch in UTC. Times and lengths are whole milliseconds.
 *
 * Window `w` of length `n` is `[w * n, (w + 1) * n)`: the end belongs to the next window. The epoch was a Thursday, so a `week`
 * begins on Thursdays at 00:00 UTC, `12h` at 00:00 and 12:00, and a length that does not divide a day drifts against midnight.
 * Source: document 3, `budgets[].window`; cluster reference, 7.2; decisions, section 8.
 */

import { parseDuration } from "../../../base/index.ts";

const NAMED: ReadonlyMap<string, number> = new Map([
  ["minute", 60_000],
  ["hour", 3_600_000],
  ["day", 86_400_000],
  ["week", 604_800_000],
]);

/** Minimum length of a window. Nodes report twice a second, so a shorter window would end before a grant in it could be used. */
export const MIN_WINDOW_MS = 1_000;
/** Maximum length of a window: ten years, the maximum in replicated rows. */
export const MAX_WINDOW_MS = 315_576_000_000;

type WindowLength =
  | { readonly kind: "length"; readonly windowMs: number }
  | { readonly kind: "invalid"; readonly message: string };

export function windowLength(text: string): WindowLength {
  const windowMs = NAMED.get(text) ?? parseDuration(text);
  if (windowMs === undefined) return invalid("expected `minute`, `hour`, `day`, `week` or a duration such as `12h`");
  if (windowMs < MIN_WINDOW_MS) return invalid("a window is at least one second long");
  if (windowMs > MAX_WINDOW_MS) return invalid("a window is at most ten years long");
  if (!Number.isInteger(windowMs)) return invalid("a window is a whole number of milliseconds long");
  return { kind: "length", windowMs };
}

const invalid = (message: string): WindowLength => ({ kind: "invalid", message });

export const windowAt = (nowMs: number, windowMs: number): number => Math.floor(nowMs / windowMs);

/** Returns the end of the window, which is the start of the next. */
export const resetsAt = (window: number, windowMs: number): number => (window + 1) * windowMs;

/** Returns whole seconds for `retry-after`, at least 1, after which the next window has certainly begun. */
export const secondsUntil = (thenMs: number, nowMs: number): number => Math.max(1, Math.ceil((thenMs - nowMs) / 1_000));
