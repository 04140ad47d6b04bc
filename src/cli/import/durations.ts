/** Durations and budget windows, as our documents and other gateways write them. */

export function durationText(ms: number): string {
  const whole = Math.max(1, Math.round(ms));
  return whole % 1000 === 0 ? `${whole / 1000}s` : `${whole}ms`;
}

const WINDOWS: ReadonlyMap<string, string> = new Map([
  ["60s", "minute"],
  ["1m", "minute"],
  ["60m", "hour"],
  ["1h", "hour"],
  ["24h", "day"],
  ["1d", "day"],
  ["7d", "week"],
  ["1w", "week"],
]);

/** Returns the window of a budget, or `undefined` for calendar windows (months, years) and for malformed text. */
export function windowOf(text: string): string | undefined {
  const known = WINDOWS.get(text);
  if (known !== undefined) return known;
  const [, count = "", unit = ""] = /^(\d{1,4})([smhdw])$/.exec(text) ?? [];
  if (Number(count) < 1) return undefined;
  return unit === "d" ? `${Number(count) * 24}h` : unit === "w" ? `${Number(count) * 168}h` : `${Number(count)}${unit}`;
}
