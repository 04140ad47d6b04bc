/** Number formats: constant units, thousands separators, shortened for narrow columns. */

/** Formats `4812330` as `4,812,330`, with `digits` decimals. */
export function count(value: number, digits = 0): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const UNITS = ["", "k", "M", "G", "T", "P"];

/** Formats with at most five characters: `999`, `4.8M`, `120k`. A budget's limit may be 2^53. */
export function short(value: number): string {
  let at = 0;
  let left = Math.abs(value);
  while (left >= 999.5 && at < UNITS.length - 1) {
    left /= 1_000;
    at += 1;
  }
  const digits = at > 0 && left < 9.95 ? 1 : 0;
  return `${value < 0 ? "-" : ""}${left.toFixed(digits)}${UNITS[at]}`;
}

/** Formats `0.6104` as `61.0`, null as `-`. */
export function percent(fraction: number | null, digits = 1): string {
  return fraction === null ? "-" : (fraction * 100).toFixed(digits);
}

/** Formats `188` as `188ms`, `9900` as `9.9s`, null as `-`. */
export function milliseconds(value: number | null): string {
  if (value === null) return "-";
  if (value < 999.5) return `${value < 9.95 && !Number.isInteger(value) ? value.toFixed(1) : Math.round(value)}ms`;
  return value < 99_950 ? `${(value / 1_000).toFixed(1)}s` : `${Math.round(value / 1_000)}s`;
}

/** Returns the number with the noun `one` or `many`: `plural(3, "member")` is `3 members`. */
export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}
