/** Numbers as operators read them: constant units, digits in threes, shortened where a column is narrow. */

/** `4812330` gives `4,812,330`; fractions are kept to `digits`. */
export function count(value: number, digits = 0): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const UNITS = ["", "k", "M", "G", "T", "P"];

/** At most five characters: `999`, `4.8M`, `120k`. A budget's limit may be 2^53. */
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

/** `0.6104` gives `61.0`; null gives `-`. */
export function percent(fraction: number | null, digits = 1): string {
  return fraction === null ? "-" : (fraction * 100).toFixed(digits);
}

/** `188` gives `188ms`, `9900` gives `9.9s`; null gives `-`. */
export function milliseconds(value: number | null): string {
  if (value === null) return "-";
  if (value < 999.5) return `${value < 9.95 && !Number.isInteger(value) ? value.toFixed(1) : Math.round(value)}ms`;
  return value < 99_950 ? `${(value / 1_000).toFixed(1)}s` : `${Math.round(value / 1_000)}s`;
}

/** `one` or `many` of them: `plural(3, "member")` is `3 members`. */
export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}
