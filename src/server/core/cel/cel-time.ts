/**
 * Parses, formats and computes timestamps and durations. Sources: CEL language definition, "Abstract Types" and "Timezones";
 * RFC 3339; protobuf `timestamp.proto` and `duration.proto` for the ranges.
 *
 * Both count nanoseconds. Parts are those in UTC, at a fixed offset (`+02:00`), or in a zone by its IANA name.
 */

import { Duration, Timestamp, type Value } from "./cel-values.ts";
import { COST_FAULT, Fault, NO_OVERLOAD } from "./evaluation-faults.ts";
import { charge, type Frame, type Run } from "./evaluation-frame.ts";

const SECOND = 1_000_000_000n;
const MILLISECOND = 1_000_000n;

/** Range of timestamps: 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z. */
const MIN_TIMESTAMP = -62_135_596_800n * SECOND;
const MAX_TIMESTAMP = 253_402_300_800n * SECOND - 1n;

/** Maximum duration, about ten thousand years. */
const MAX_DURATION = 315_576_000_000n * SECOND;

export const timestampOf = (nanos: bigint): Timestamp | undefined =>
  nanos < MIN_TIMESTAMP || nanos > MAX_TIMESTAMP ? undefined : new Timestamp(nanos);

export const durationOf = (nanos: bigint): Duration | undefined =>
  nanos < -MAX_DURATION || nanos > MAX_DURATION ? undefined : new Duration(nanos);

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;

export function parseTimestamp(text: string): Timestamp | undefined {
  const parts = RFC3339.exec(text);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", sign, offsetHour = "0", offsetMinute = "0"] = parts;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const isDate = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  if (!isDate || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined;
  const clock = Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  const offset = (Number(offsetHour) * 3600 + Number(offsetMinute) * 60) * (sign === "-" ? -1 : 1);
  const seconds = BigInt(date.getTime() / 1000 + clock - offset);
  return timestampOf(seconds * SECOND + BigInt(fraction.padEnd(9, "0")));
}

const UNITS: Readonly<Record<string, bigint>> = {
  h: 3600n * SECOND,
  m: 60n * SECOND,
  s: SECOND,
  ms: MILLISECOND,
  us: 1000n,
  µs: 1000n,
  ns: 1n,
};

/** Parses durations such as `1h30m` or `-1.5s`; `0` needs no unit. */
export function parseDuration(text: string): Duration | undefined {
  const whole = /^([+-]?)((?:(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:h|ms|us|µs|ns|m|s))+|0)$/.exec(text);
  if (whole === null) return undefined;
  let nanos = 0n;
  for (const [, count = "", fraction = "", unit = ""] of (whole[2] ?? "").matchAll(
    /(\d*)(?:\.(\d*))?(h|ms|us|µs|ns|m|s)/g,
  )) {
    const scale = UNITS[unit] ?? 0n;
    nanos += BigInt(count || "0") * scale + (BigInt(fraction || "0") * scale) / 10n ** BigInt(fraction.length);
  }
  return durationOf(whole[1] === "-" ? -nanos : nanos);
}

/** Formats a timestamp as RFC 3339 in UTC. Trailing zeros of the fraction are dropped. */
export function timestampText({ nanos }: Timestamp): string {
  const date = new Date(Number(floorDivide(nanos, MILLISECOND)));
  return `${date.toISOString().replace(/\.\d+Z$/, "")}${fractionText(modulo(nanos, SECOND))}Z`;
}

export function durationText({ nanos }: Duration): string {
  const size = nanos < 0n ? -nanos : nanos;
  return `${nanos < 0n ? "-" : ""}${size / SECOND}${fractionText(size % SECOND)}s`;
}

const fractionText = (nanos: bigint): string =>
  nanos === 0n ? "" : `.${String(nanos).padStart(9, "0").replace(/0+$/, "")}`;

export const secondsOf = ({ nanos }: Timestamp): bigint => floorDivide(nanos, SECOND);

export const timestampOfSeconds = (seconds: bigint): Timestamp | undefined => timestampOf(seconds * SECOND);

const modulo = (a: bigint, b: bigint): bigint => ((a % b) + b) % b;
const floorDivide = (a: bigint, b: bigint): bigint => (a - modulo(a, b)) / b;

const BAD_ZONE = new Fault("other", "there is no such time zone");

/** Returns how far a zone is ahead of UTC at an instant, in milliseconds. */
function zoneOffset(zone: string, at: number): number | Fault {
  const fixed = /^([+-]?)(\d\d):(\d\d)$/.exec(zone);
  if (fixed !== null) {
    const minutes = Number(fixed[2]) * 60 + Number(fixed[3]);
    return minutes * 60_000 * (fixed[1] === "-" ? -1 : 1);
  }
  const format = zoneFormat(zone);
  if (format instanceof Fault) return format;
  const parts = new Map(format.formatToParts(new Date(at)).map(({ type, value }) => [type, value]));
  const part = (name: Intl.DateTimeFormatPartTypes): number => Number(parts.get(name));
  const year = parts.get("era") === "BC" ? 1 - part("year") : part("year");
  const wall = new Date(0);
  wall.setUTCFullYear(year, part("month") - 1, part("day"));
  wall.setUTCHours(part("hour"), part("minute"), part("second"));
  return wall.getTime() - Math.floor(at / 1000) * 1000;
}

/** Cache of formatters by zone. Creating one is slow, and rules name few zones. */
const formats = new Map<string, Intl.DateTimeFormat>();
const MAX_FORMATS = 64;

function zoneFormat(zone: string): Intl.DateTimeFormat | Fault {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    if (formats.size >= MAX_FORMATS) formats.clear();
    formats.set(zone, format);
    return format;
  } catch {
    return BAD_ZONE;
  }
}

/** Cost of a lookup in a time zone's table, in steps. */
const ZONE_COST = 100;

type DatePart = (date: Date) => number;

function inUtc(time: Value, ofDate: DatePart, ofDuration?: (nanos: bigint) => bigint): Value | Fault {
  if (time instanceof Duration) return ofDuration?.(time.nanos) ?? NO_OVERLOAD;
  return time instanceof Timestamp ? BigInt(ofDate(new Date(milliseconds(time)))) : NO_OVERLOAD;
}

function inZone(frame: Frame, time: Value, zone: Value, ofDate: DatePart): Value | Fault {
  if (!(time instanceof Timestamp) || typeof zone !== "string") return NO_OVERLOAD;
  if (!charge(frame, ZONE_COST)) return COST_FAULT;
  const at = milliseconds(time);
  const offset = zoneOffset(zone, at);
  return offset instanceof Fault ? offset : BigInt(ofDate(new Date(at + offset)));
}

const milliseconds = ({ nanos }: Timestamp): number => Number(floorDivide(nanos, MILLISECOND));

function dayOfYear(date: Date): number {
  const start = new Date(date.getTime());
  start.setUTCMonth(0, 1);
  return Math.round((date.getTime() - start.getTime()) / 86_400_000);
}

const DATE_PARTS: Readonly<Record<string, DatePart>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: dayOfYear,
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};

/**
 * Parts of a duration. Hours, minutes and seconds are the whole duration in that unit; milliseconds are those within the
 * second.
 */
const DURATION_PARTS: Readonly<Record<string, (nanos: bigint) => bigint>> = {
  getHours: (nanos) => nanos / (3600n * SECOND),
  getMinutes: (nanos) => nanos / (60n * SECOND),
  getSeconds: (nanos) => nanos / SECOND,
  getMilliseconds: (nanos) => (nanos % SECOND) / MILLISECOND,
};

export const TIME_FUNCTIONS: Readonly<Record<string, Run>> = Object.fromEntries(
  Object.entries(DATE_PARTS).flatMap(([name, ofDate]): [string, Run][] => [
    [name, (_, time) => inUtc(time, ofDate, DURATION_PARTS[name])],
    [`${name}/2`, (frame, time, zone) => inZone(frame, time, zone, ofDate)],
  ]),
);
