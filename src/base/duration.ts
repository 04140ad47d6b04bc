/**
 * Durations as Go writes them: `1h30m`, `250ms`, `-1.5h`, `0`. The unit in code is the millisecond.
 *
 * Source: Go's `time.ParseDuration`, its grammar `[-+]?([0-9]*(\.[0-9]*)?unit)+` and its range (a signed 64-bit count
 * of nanoseconds, about 292 years). Arithmetic uses whole nanoseconds, so `0.1s` is exactly 100 ms; smaller fractions
 * are cut off. A timer of Node lasts at most 2^31-1 ms (24.8 days): `setTimeout` with a longer duration would fire at
 * once, so a caller must split it.
 */

/**
 * Maximum length of a text, since configuration is untrusted input. The longest sensible duration, six units with nine
 * decimals each, is shorter.
 */
const MAX_TEXT_LENGTH = 100;

const MAX_NANOSECONDS = 2n ** 63n - 1n;

const NANOSECONDS_PER_MILLISECOND = 1_000_000n;

const UNIT_NANOSECONDS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  "\u00b5s": 1_000n, // micro sign
  "\u03bcs": 1_000n, // Greek letter mu, which looks the same and which Go accepts too
  ms: NANOSECONDS_PER_MILLISECOND,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const PART = /(\d*)(?:\.(\d*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y;

/**
 * Parses a duration. Returns milliseconds, possibly negative or fractional, or `undefined` if `text` is not a duration or out
 * of range.
 */
export function parseDuration(text: string): number | undefined {
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  const isNegative = text.startsWith("-");
  const unsigned = isNegative || text.startsWith("+") ? text.slice(1) : text;
  if (unsigned === "0") return 0;
  if (unsigned === "") return undefined;

  let total = 0n;
  PART.lastIndex = 0;
  for (let at = 0; at < unsigned.length; at = PART.lastIndex) {
    const match = PART.exec(unsigned);
    if (match === null) return undefined;
    const [, whole = "", fraction = "", unit = ""] = match;
    if (whole === "" && fraction === "") return undefined;
    const scale = UNIT_NANOSECONDS[unit] as bigint;
    total += BigInt(whole || "0") * scale + (BigInt(fraction || "0") * scale) / 10n ** BigInt(fraction.length);
    if (total > MAX_NANOSECONDS) return undefined;
  }
  if (total === 0n) return 0;
  // Computed in two parts, so that a whole number of milliseconds stays exact, however large.
  const ms = Number(total / NANOSECONDS_PER_MILLISECOND) + Number(total % NANOSECONDS_PER_MILLISECOND) / 1e6;
  return isNegative ? -ms : ms;
}

/**
 * Formats a duration as the shortest text, largest units first: `1h30m`, `1m30s`, `2.5s`, `250ms`, `1.5µs`, `0s`. Zero units
 * are left out. `parseDuration` reads a whole number of milliseconds back unchanged; fractions are rounded to the nanosecond.
 * `ms` must be finite.
 */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) throw new RangeError(`a duration must be a finite number of milliseconds, not ${ms}`);
  const magnitude = Math.abs(ms);
  const wholeMs = Math.floor(magnitude);
  const total = BigInt(wholeMs) * NANOSECONDS_PER_MILLISECOND + BigInt(Math.round((magnitude - wholeMs) * 1e6));
  if (total === 0n) return "0s";
  const sign = ms < 0 ? "-" : "";
  if (total < 1_000n) return `${sign}${total}ns`;
  if (total < 1_000_000n) return `${sign}${decimal(total, 1_000n)}µs`;
  if (total < 1_000_000_000n) return `${sign}${decimal(total, NANOSECONDS_PER_MILLISECOND)}ms`;

  const hours = total / 3_600_000_000_000n;
  const minutes = (total / 60_000_000_000n) % 60n;
  const secondsAndLess = total % 60_000_000_000n;
  return (
    sign +
    (hours > 0n ? `${hours}h` : "") +
    (minutes > 0n ? `${minutes}m` : "") +
    (secondsAndLess > 0n ? `${decimal(secondsAndLess, 1_000_000_000n)}s` : "")
  );
}

/** Returns `amount / unit` in decimals without trailing zeros. `unit` is a power of ten. */
function decimal(amount: bigint, unit: bigint): string {
  const digits = unit.toString().length - 1;
  const fraction = (amount % unit).toString().padStart(digits, "0").replace(/0+$/, "");
  return `${amount / unit}${fraction === "" ? "" : `.${fraction}`}`;
}
