/**
 * Data of the pulse charts: the history of every node over 15 minutes or an hour, summed in buckets of ten seconds or a minute
 * (design decisions, section 17). The newest bucket is one that all answering nodes have completed: otherwise missing parts would look
 * like a drop in traffic.
 */

import type { HistoryRecord } from "../../admin-api/index.ts";
import { milliseconds, short } from "../format/numbers.ts";
import { CHART_SCALES, type ChartScale, type ScaleSpec } from "../model/chart-scale.ts";
import type { Context } from "../model/context.ts";
import type { Need, Reading } from "../model/data.ts";
import { createMemo } from "../model/remember.ts";
import type { Tone } from "../model/text.ts";

/** Maximum number of names beside a sum. */
const MAX_NAMED = 3;
/** Delay in milliseconds after which a node is no longer waited for; at least the width of a bucket. */
const LATE_MS = 30_000;

const KINDS = ["cluster", "requests", "backends", "budgets", "guardrails"] as const;
type Kind = (typeof KINDS)[number];
type Values = readonly (number | null)[];

const needOf = (kind: Kind, scale: ChartScale): Need<ScaleSpec["list"]> => ({
  id: CHART_SCALES[scale].list,
  name: kind,
});

/** Returns the needs of the view. The first one decides its state, because every node has rows of it in every bucket. */
export const pulseNeeds = (scale: ChartScale): readonly [Need, ...Need[]] => [
  needOf("cluster", scale),
  needOf("requests", scale),
  needOf("backends", scale),
  needOf("budgets", scale),
  needOf("guardrails", scale),
];

export interface Panel {
  readonly title: string;
  /** Stacked bands, the worst at the bottom. */
  readonly bands: readonly { readonly tone: Tone; readonly values: Values }[];
  /** Reason why there are no values. */
  readonly missingReason: string | undefined;
  /** Formats a value: `12.4/s`. */
  amount(value: number): string;
  /** Returns the sum over the bands of a bucket in words; `parts` returns its components. */
  value(at: number): string;
  parts(at: number): readonly string[];
}

export interface Pulse {
  readonly scale: ScaleSpec;
  /** Start times of the buckets, oldest first. */
  readonly moments: readonly number[];
  readonly nodes: readonly string[];
  readonly panels: readonly Panel[];
}

const MEMO = createMemo<Pulse>();

export function pulseOf({ data, now, chartScale = "15m" }: Pick<Context, "data" | "now" | "chartScale">): Pulse {
  const scale = CHART_SCALES[chartScale];
  const readings = KINDS.map((kind) => data.get(needOf(kind, chartScale)));
  const [clusterRows = []] = readings.map((reading) => reading?.value ?? []);
  const newest = newestCompleteBucket(clusterRows, scale, now);
  return MEMO([scale, newest, ...readings.flatMap((reading) => [reading?.value, reading?.failure?.code])], () => {
    const isKnown = bucketsOf(clusterRows, scale, newest).map((bucket) => bucket.length > 0);
    const parts = Object.fromEntries(
      KINDS.map((kind, at) => [kind, seriesOf(readings[at], scale, newest, isKnown)]),
    ) as Readonly<Record<Kind, Series>>;
    const { bucketMs, buckets } = scale;
    return {
      scale,
      moments: Array.from({ length: buckets }, (_, at) => newest - (buckets - 1 - at) * bucketMs),
      nodes: [...new Set(clusterRows.map(({ node }) => node))].sort(),
      panels: panelsOf(parts, scale),
    };
  });
}

/** Returns the start of the last bucket that every node with recent rows has completed. */
function newestCompleteBucket(rows: readonly HistoryRecord[], { bucketMs }: ScaleSpec, now: number): number {
  const last = new Map<string, number>();
  for (const { node, time } of rows) {
    const at = Date.parse(time);
    if (Number.isFinite(at) && at > (last.get(node) ?? 0)) last.set(node, at);
  }
  const times = [...last.values()];
  if (times.length === 0) return Math.floor(now / bucketMs) * bucketMs - bucketMs;
  const max = Math.max(...times);
  return Math.min(...times.filter((at) => at >= max - Math.max(LATE_MS, bucketMs)));
}

interface Series {
  readonly missingReason: string | undefined;
  /** Sums all rows that `accepts` accepts, by bucket; null if no node has the bucket. */
  sum(measure: Measure, accepts?: (row: HistoryRecord) => boolean): Values;
  max(measure: Measure): Values;
  /** Returns names with the largest sums in the bucket, largest first. */
  top(measure: Measure, at: number, accepts?: (row: HistoryRecord) => boolean): readonly (readonly [string, number])[];
  at(bucket: number): readonly HistoryRecord[];
}

type Measure = {
  [Key in keyof HistoryRecord]-?: HistoryRecord[Key] extends number | null ? Key : never;
}[keyof HistoryRecord];

function bucketsOf(
  rows: readonly HistoryRecord[],
  { bucketMs, buckets: length }: ScaleSpec,
  newest: number,
): readonly (readonly HistoryRecord[])[] {
  const buckets = Array.from({ length }, (): HistoryRecord[] => []);
  for (const row of rows) {
    buckets[length - 1 - Math.round((newest - Date.parse(row.time)) / bucketMs)]?.push(row);
  }
  return buckets;
}

/** Indexes rows by bucket. `isKnown` says for each bucket whether any node has it, so that a missing row means zero. */
function seriesOf(
  reading: Reading<readonly HistoryRecord[]> | undefined,
  scale: ScaleSpec,
  newest: number,
  isKnown: readonly boolean[],
): Series {
  const buckets = bucketsOf(reading?.value ?? [], scale, newest);
  const missingReason = reading?.value === undefined ? (reading?.failure?.code ?? "not read yet") : undefined;
  const all = (): boolean => true;
  return {
    missingReason,
    sum: (measure, accepts = all) =>
      buckets.map((rows, at) =>
        isKnown[at] === true ? rows.reduce((sum, row) => sum + (accepts(row) ? (row[measure] ?? 0) : 0), 0) : null,
      ),
    max: (measure) =>
      buckets.map((rows) => {
        const known = rows.flatMap((row) => row[measure] ?? []);
        return known.length === 0 ? null : Math.max(...known);
      }),
    top(measure, at, accepts = all) {
      const sums = new Map<string, number>();
      for (const row of buckets[at] ?? []) {
        const value = row[measure] ?? 0;
        if (value > 0 && accepts(row)) sums.set(row.name, (sums.get(row.name) ?? 0) + value);
      }
      return [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, MAX_NAMED);
    },
    at: (bucket) => buckets[bucket] ?? [],
  };
}

const perSecond = (value: number): string => `${rate(value)}/s`;
const perMinute = (value: number): string => `${short(value)}/min`;
/** Formats a rate, below a hundred with one decimal. */
const rate = (value: number): string => (value < 99.95 ? value.toFixed(1) : short(value));

const times = (values: Values, by: number): Values => values.map((value) => (value === null ? null : value * by));

const namedAmounts = (parts: readonly (readonly [string, number])[], by: number, amount: (value: number) => string) =>
  parts.map(([name, value]) => `${name} ${amount(value * by)}`);

function panelOf(
  title: string,
  of: Series,
  { bands, amount, parts }: Pick<Panel, "bands" | "amount" | "parts">,
): Panel {
  return {
    title,
    bands,
    missingReason: of.missingReason,
    amount,
    parts,
    value(at) {
      const known = bands.flatMap(({ values }) => values[at] ?? []);
      return known.length === 0 ? "-" : amount(known.reduce((sum, value) => sum + value, 0));
    },
  };
}

const DENIED: ReadonlySet<string> = new Set(["401", "403", "429"]);

function panelsOf(
  { cluster, requests, backends, budgets, guardrails }: Readonly<Record<Kind, Series>>,
  { bucketMs }: ScaleSpec,
): readonly Panel[] {
  const toMinute = 60_000 / bucketMs;
  const toSecond = 1_000 / bucketMs;
  const withStatus = (first: string) => requests.sum("attempts", ({ name }) => name.startsWith(first));
  const others = requests.sum("attempts", ({ name }) => !/^[45]/.test(name));
  const singleBand = (values: Values) => [{ tone: "plain" as const, values }];
  const input = backends.sum("input_tokens");
  const output = backends.sum("output_tokens");
  const writes = writesOf(cluster);
  return [
    panelOf("REQUESTS", requests, {
      bands: [
        { tone: "fail", values: times(withStatus("5"), toSecond) },
        { tone: "warn", values: times(withStatus("4"), toSecond) },
        { tone: "plain", values: times(others, toSecond) },
      ],
      amount: perSecond,
      parts: (at) => namedAmounts(requests.top("attempts", at), toSecond, rate),
    }),
    panelOf("FIRST BYTE", backends, {
      bands: singleBand(backends.max("ttfb_p95_ms")),
      amount: milliseconds,
      parts: (at) => firstByteParts(backends.at(at)),
    }),
    panelOf("TOKENS", backends, {
      bands: singleBand(times(input, toMinute)).concat(singleBand(times(output, toMinute))),
      amount: perMinute,
      parts: (at) => [`in ${short((input[at] ?? 0) * toMinute)}`, `out ${short((output[at] ?? 0) * toMinute)}`],
    }),
    panelOf("SPEND", budgets, {
      bands: singleBand(times(budgets.sum("used"), toMinute)),
      amount: perMinute,
      parts: (at) => namedAmounts(budgets.top("used", at), toMinute, short),
    }),
    panelOf("DENIED", requests, {
      bands: [
        {
          tone: "warn",
          values: times(
            requests.sum("attempts", ({ name }) => DENIED.has(name)),
            toMinute,
          ),
        },
      ],
      amount: perMinute,
      parts: (at) => [
        ...namedAmounts(
          requests.top("attempts", at, ({ name }) => DENIED.has(name)),
          toMinute,
          short,
        ),
        ...namedAmounts(budgets.top("refused", at), toMinute, short).map((text) => `budget ${text}`),
        ...namedAmounts(guardrails.top("decisions", at), toMinute, short).map((text) => `rule ${text}`),
      ],
    }),
    panelOf("FINDINGS", guardrails, {
      bands: singleBand(times(guardrails.sum("findings"), toMinute)),
      amount: perMinute,
      parts: (at) => namedAmounts(guardrails.top("findings", at), toMinute, short),
    }),
    panelOf("IN FLIGHT", backends, {
      bands: singleBand(backends.sum("in_flight")),
      amount: short,
      parts: (at) => namedAmounts(backends.top("in_flight", at), 1, short),
    }),
    panelOf("RAFT", cluster, {
      bands: singleBand(cluster.max("commit_ms")),
      amount: milliseconds,
      parts: (at) => [
        `${short((writes[at] ?? 0) * toMinute)} entries/min`,
        `index ${Math.max(0, ...cluster.at(at).flatMap(({ applied_index: index }) => index ?? []))}`,
      ],
    }),
  ];
}

/** Returns the slowest provider, and the median over all answered attempts, which is approximate: a median of medians. */
function firstByteParts(rows: readonly HistoryRecord[]): readonly string[] {
  let answered = 0;
  let weightedSum = 0;
  let slowest: HistoryRecord | undefined;
  for (const row of rows) {
    const count = (row.attempts ?? 0) - (row.failures ?? 0);
    if (row.ttfb_p50_ms !== null && count > 0) {
      answered += count;
      weightedSum += row.ttfb_p50_ms * count;
    }
    if ((row.ttfb_p95_ms ?? -1) > (slowest?.ttfb_p95_ms ?? -1)) slowest = row;
  }
  return [
    ...(answered === 0 ? [] : [`p50 ${milliseconds(weightedSum / answered)}`]),
    ...(slowest === undefined ? [] : [`p95 of ${slowest.name}`]),
  ];
}

/** Returns the log entries applied in each bucket, on the most advanced node. */
function writesOf(cluster: Series): readonly number[] {
  const indexes = cluster.max("applied_index");
  return indexes.map((index, at) => {
    const before = indexes[at - 1] ?? null;
    return index === null || before === null ? 0 : Math.max(0, index - before);
  });
}
