/**
 * Expected verdicts, computed from the simulated provider's answers, its report settings and the ledger, without the
 * gateway's own code. Source: specification document 3, `reconcile`; usage report APIs reference, 4 and 5.
 */

export const DAY = 86_400_000;
const HOUR = DAY / 24;

export const CLASSES = ["input", "cached_input", "cache_creation_input", "output"] as const;
export type Class = (typeof CLASSES)[number];
export type Sums = Readonly<Record<Class, number>>;
export const NOTHING: Sums = { input: 0, cached_input: 0, cache_creation_input: 0, output: 0 };

/** An answer as listed by `GET /sim/reports`. */
export interface Line {
  readonly at: number;
  readonly dialect: Type;
  readonly model: string;
  readonly isBatch: boolean;
  readonly counters: {
    readonly input: number;
    readonly cached: number;
    readonly written: number;
    readonly output: number;
  };
}

export type Type = "compat" | "messages";

/** Settings of `POST /sim/reports` that stay for a round. */
export interface Knobs {
  readonly delay_hours: number;
  readonly edge_hours: number;
  readonly lacking: readonly string[];
  readonly adjust: readonly Adjustment[];
}
interface Adjustment {
  readonly type: Type;
  readonly day: string;
  readonly counter: "input" | "cached" | "written" | "output";
  readonly factor: number;
}

export interface Rules {
  readonly lagMs: number;
  readonly lookbackMs: number;
  readonly ratio: number;
  readonly floor: number;
}

export interface Judged {
  readonly class: Class;
  readonly metered: number;
  readonly reported: number;
  readonly ratio: number;
  readonly breach: boolean;
}

export const dayText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

export const sumsOf = (lines: readonly Line[]): Sums => ({
  input: total(lines, "input"),
  cached_input: total(lines, "cached"),
  cache_creation_input: total(lines, "written"),
  output: total(lines, "output"),
});
const total = (lines: readonly Line[], of: keyof Line["counters"]): number =>
  lines.reduce((sum, { counters }) => sum + counters[of], 0);

const CLASS_OF = { input: "input", cached: "cached_input", written: "cache_creation_input", output: "output" } as const;

/** Returns `undefined` if nothing is reported for the day. */
function reportedOn(from: number, type: Type, lines: readonly Line[], settings: Knobs, now: number): Sums | undefined {
  const begins = from + settings.edge_hours * HOUR;
  const seen = lines.filter(
    ({ at, dialect, isBatch }) =>
      dialect === type && !isBatch && at >= begins && at < begins + DAY && at <= now - settings.delay_hours * HOUR,
  );
  if (seen.length === 0) return undefined;
  const sums: Record<Class, number> = { ...sumsOf(seen) };
  for (const { type: of, day, counter, factor } of settings.adjust) {
    const name = CLASS_OF[counter];
    if (of === type && day === dayText(from)) sums[name] = Math.round(sums[name] * factor);
  }
  return sums;
}

const apart = (one: number, other: number): number =>
  one === other ? 0 : Math.abs(one - other) / Math.max(one, other);

/** Returns the verdicts of one day as a round computes them. */
export function judge(
  from: number,
  type: Type,
  metered: Sums,
  { lines, knobs, now, rules }: { lines: readonly Line[]; knobs: Knobs; now: number; rules: Rules },
): readonly Judged[] {
  const reported = reportedOn(from, type, lines, knobs, now);
  // Without these two, cache writes cannot be separated from the rest of the input.
  const isJoined =
    type === "compat" &&
    reported !== undefined &&
    ["input_uncached_tokens", "input_cache_write_tokens"].every((it) => knobs.lacking.includes(it));
  const of = (sums: Sums, name: Class): number =>
    sums[name] + (isJoined && name === "input" ? sums.cache_creation_input : 0);
  return CLASSES.filter((name) => !(isJoined && name === "cache_creation_input")).map((name) => {
    const [m, r] = [of(metered, name), of(reported ?? NOTHING, name)];
    const ratio = apart(m, r);
    return {
      class: name,
      metered: m,
      reported: r,
      ratio,
      breach: ratio > rules.ratio && Math.abs(m - r) >= rules.floor,
    };
  });
}

/** Returns the days of a round's window, by their first moment. */
export function daysOf(now: number, { lookbackMs }: Rules): readonly number[] {
  const days: number[] = [];
  for (let at = Math.floor((now - lookbackMs) / DAY) * DAY; at + DAY <= now; at += DAY) days.push(at);
  return days;
}

export const isMature = (from: number, now: number, { lagMs }: Rules): boolean => now >= from + DAY + lagMs;

export const less = (one: Sums, other: Sums): Sums => combined((name) => one[name] - other[name]);
export const plus = (one: Sums, other: Sums): Sums => combined((name) => one[name] + other[name]);
const combined = (of: (name: Class) => number): Sums =>
  Object.fromEntries(CLASSES.map((name) => [name, of(name)])) as Record<Class, number>;

/** Returns breaches in the audit trail as lines of day, provider and class. */
export const breachesIn = (output: string): readonly string[] =>
  output
    .split("\n")
    .filter((line) => line.includes('"reconcile.breach"'))
    .map((line) => {
      const of = (name: string): string => new RegExp(`"${name}":"([^"]+)"`).exec(line)?.[1] ?? "";
      return `${of("day")} ${of("provider")} ${of("class")}`;
    });
