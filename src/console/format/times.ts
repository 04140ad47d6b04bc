/** Formats of times and durations. Clock times are UTC with a Z; arguments are milliseconds since 1970. */

/** Formats a time on the day of `now` as `14:02:09Z`, otherwise as `2026-11-20 13:41Z`. */
export function clock(at: number, now: number): string {
  const iso = isoOf(at);
  if (iso === undefined) return "-";
  return iso.slice(0, 10) === isoOf(now)?.slice(0, 10)
    ? `${iso.slice(11, 19)}Z`
    : `${iso.slice(0, 10)} ${iso.slice(11, 16)}Z`;
}

/** Formats the time of day: `14:02:09Z`. */
export const timeOfDay = (at: number): string => `${isoOf(at)?.slice(11, 19) ?? "--:--:--"}Z`;

/** Formats the day: `2026-11-20`. */
export const day = (at: number): string => isoOf(at)?.slice(0, 10) ?? "-";

function isoOf(at: number): string | undefined {
  return Number.isFinite(at) && Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : undefined;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Formats a duration in at most two units: `0s`, `42s`, `12m 02s`, `9h 57m`, `61d`. Negative durations are 0. */
export function humanDuration(ms: number): string {
  const left = Math.max(0, ms);
  if (left < MINUTE) return `${Math.floor(left / SECOND)}s`;
  if (left < HOUR) return `${Math.floor(left / MINUTE)}m ${two((left % MINUTE) / SECOND)}s`;
  if (left < 2 * DAY) return `${Math.floor(left / HOUR)}h ${two((left % HOUR) / MINUTE)}m`;
  return `${Math.floor(left / DAY)}d`;
}

/** Formats only the larger unit: `42s`, `12m`, `9h`, `61d`. */
export const shortDuration = (ms: number): string => humanDuration(ms).split(" ")[0] ?? "0s";

const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");

/** Formats the age of a time: `2s ago`; null as `-`. */
export const ago = (at: string | null, now: number): string =>
  at === null ? "-" : `${shortDuration(now - Date.parse(at))} ago`;
