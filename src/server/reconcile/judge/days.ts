/** UTC days, as text such as `2026-11-20` (which sorts by date), and as milliseconds since 1970 of their first moment. */

export const DAY_MS = 86_400_000;

export const startOfDay = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;

export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

export const startOfDayMs = (day: string): number => Date.parse(`${day}T00:00:00Z`);

export interface Window {
  /** First moment of the first day. */
  readonly from: number;
  /** First moment after the last complete day. */
  readonly to: number;
}

/** Returns the complete days of the lookback. */
export const lookbackWindow = (now: number, lookbackMs: number): Window => ({
  from: startOfDay(now - lookbackMs),
  to: startOfDay(now),
});

export const daysIn = ({ from, to }: Window): readonly string[] =>
  Array.from({ length: Math.max(0, Math.round((to - from) / DAY_MS)) }, (_, at) => dayOf(from + at * DAY_MS));

/** Returns whether the provider's report of a day has had the time to become final. */
export const isMature = (day: string, now: number, lagMs: number): boolean => now >= startOfDayMs(day) + DAY_MS + lagMs;
