/**
 * History of this node: every ten seconds, the statistics of the data plane and the increase of the instruments are stored in a
 * bucket that begins at a multiple of ten seconds, and the buckets of each minute are combined into one of an hour's history.
 * Requests pay only for what `statistics` counts anyway.
 */
import type { Clock, InstrumentReading, Instruments } from "../../base/index.ts";
import type { HistoryRecord, RowArrayOf } from "../admin/index.ts";
import type { Cluster } from "../cluster/index.ts";
import type { Statistics } from "../dataplane/index.ts";
import { createHistory, type History, HOUR, type Point, QUARTER_HOUR } from "../usage/index.ts";
import { createThrottledListeners } from "./change-notifier.ts";
import { type Measures, minutePoints } from "./history-minute.ts";

type Kind = HistoryRecord["kind"];

interface HistoryOptions {
  readonly statistics: Pick<Statistics, "intervals">;
  readonly instruments: Pick<Instruments, "read">;
  readonly cluster: Pick<Cluster, "status">;
  readonly clock: Pick<Clock, "now">;
}

interface OpenHistory {
  /** Rows for the last quarter of an hour, in buckets of ten seconds, and for the last hour, in buckets of a minute. */
  readonly rows: { readonly history: RowArrayOf<"history">; readonly history_minutes: RowArrayOf<"history_minutes"> };
  /** Ends the current bucket at the clock's time; also called by its own timer. */
  sample(): void;
  close(): void;
}

export function openHistory({ statistics, instruments, cluster, clock }: HistoryOptions): OpenHistory {
  const history = createHistory<Measures>(QUARTER_HOUR);
  const minutes = createHistory<Measures>(HOUR);
  /** Points of the current minute, at most six buckets. */
  let ofMinute: Point<Measures>[] = [];
  const count = createCounts();
  count(instruments.read());
  let begunAt = bucketAt(clock.now());
  let timer: NodeJS.Timeout | undefined;

  const sample = (): void => {
    const points = new Map<string, Point<Measures>>();
    const add = (kind: Kind, name: string, measures: Measures): void => {
      const key = `${kind}\0${name}`;
      const before = points.get(key)?.measures;
      points.set(key, { kind, name, at: begunAt, measures: { ...before, ...measures } });
    };
    for (const { kind, name, reading } of statistics.intervals()) {
      const { attempts, failures, firstByteP50, firstByteP95, inFlight } = reading;
      if (attempts === 0 && inFlight === 0) continue;
      add(kind, name, {
        ...{ attempts, failures, in_flight: inFlight },
        ...{ ttfb_p50_ms: firstByteP50, ttfb_p95_ms: firstByteP95 },
      });
    }
    const { of, means } = count(instruments.read());
    for (const { metric, label, kind, measure, where } of COUNTED) {
      for (const [name, value] of of(metric, label, where)) add(kind, name, { [measure]: value });
    }
    for (const detector of of(FOUND, "detector", undefined).keys()) {
      const types = [...of(FOUND, "type", ["detector", detector])].map(([type, findings]) => ({ type, findings }));
      add("guardrails", detector, { types: types.sort((a, b) => b.findings - a.findings) });
    }
    const held = means.get("gateway_guardrail_stream_held_bytes");
    if (held !== undefined) add("guardrails", EVERY_STREAM, { held_bytes: Math.round(held) });
    const committed = means.get("gateway_cluster_write_seconds");
    const { nodeId, applied } = cluster.status();
    const latency = committed === undefined ? null : Number((committed * 1_000).toPrecision(3));
    add("cluster", nodeId, { applied_index: applied, commit_ms: latency });
    history.add([...points.values()], begunAt);
    ofMinute.push(...points.values());
    const minute = minuteAt(begunAt);
    begunAt = bucketAt(clock.now());
    if (minuteAt(begunAt) === minute) return;
    minutes.add(minutePoints(ofMinute, minute), minute);
    ofMinute = [];
  };
  const next = (): void => {
    timer = setTimeout(
      () => {
        sample();
        next();
      },
      // The timer fires shortly after the end of a bucket, so that no bucket begins twice.
      begunAt + BUCKET_MS - clock.now() + 5,
    ).unref();
  };
  next();

  return {
    rows: { history: rowsOf(history), history_minutes: rowsOf(minutes) },
    sample,
    close: () => clearTimeout(timer),
  };
}

const rowsOf = (history: History<Measures>): RowArrayOf<"history"> => ({
  list: () => history.read().map(historyRecord),
  onChange: createThrottledListeners({ changesInMs: () => undefined, awaitChange: history.awaitChange }),
});

const BUCKET_MS = QUARTER_HOUR.bucketMs;
const bucketAt = (now: number): number => Math.floor(now / BUCKET_MS) * BUCKET_MS;
const minuteAt = (now: number): number => Math.floor(now / HOUR.bucketMs) * HOUR.bucketMs;

/** Name of the series that sums up the streams of all answers. */
const EVERY_STREAM = "streams";

interface Counted {
  readonly metric: string;
  /** Label whose values are the names of the series. */
  readonly label: string;
  readonly kind: Kind;
  readonly measure: keyof Measures;
  /** Further label, and the value that it must have for a series to count. */
  readonly where?: readonly [label: string, value: string];
}

const tokens = (kind: Kind, label: string, measure: "input_tokens" | "output_tokens"): Counted => ({
  metric: "gateway_tokens_total",
  label,
  kind,
  measure,
  where: ["kind", measure === "input_tokens" ? "input" : "output"],
});

const FOUND = "gateway_detector_findings_total";

const COUNTED: readonly Counted[] = [
  tokens("backends", "provider", "input_tokens"),
  tokens("backends", "provider", "output_tokens"),
  tokens("models", "model", "input_tokens"),
  tokens("models", "model", "output_tokens"),
  { metric: "gateway_requests_total", label: "status", kind: "requests", measure: "attempts" },
  { metric: "gateway_budget_units_total", label: "budget", kind: "budgets", measure: "used" },
  { metric: "gateway_budget_refusals_total", label: "budget", kind: "budgets", measure: "refused" },
  { metric: "gateway_guardrail_decisions_total", label: "rule", kind: "guardrails", measure: "decisions" },
  { metric: FOUND, label: "detector", kind: "guardrails", measure: "findings" },
];
const METRICS: ReadonlySet<string> = new Set(COUNTED.map(({ metric }) => metric));
const MEANS: ReadonlySet<string> = new Set(["gateway_guardrail_stream_held_bytes", "gateway_cluster_write_seconds"]);

interface Counts {
  /** Returns the increase since the last reading by label; omits what did not grow. */
  of(metric: string, label: string, where: Counted["where"]): ReadonlyMap<string, number>;
  /** Means of the observations since the last reading, by name; omits what was not observed. */
  readonly means: ReadonlyMap<string, number>;
}

/** Differences between one reading of the instruments and the next. */
function createCounts(): (readings: readonly InstrumentReading[]) => Counts {
  const before = new Map<string, number>();
  const grown = (key: string, now: number): number => {
    const by = now - (before.get(key) ?? 0);
    before.set(key, now);
    return by;
  };
  return (readings) => {
    const sets: { readonly metric: string; readonly labels: ReadonlyMap<string, string>; readonly by: number }[] = [];
    const means = new Map<string, number>();
    for (const reading of readings) {
      const { name, labelNames } = reading;
      if (reading.kind === "histogram") {
        if (!MEANS.has(name)) continue;
        for (const { cumulative, sum } of reading.series) {
          const observed = grown(`${name} count`, cumulative.at(-1) ?? 0);
          const added = grown(`${name} sum`, sum);
          if (observed > 0) means.set(name, added / observed);
        }
      } else if (METRICS.has(name)) {
        for (const { labelValues, value } of reading.series) {
          const by = grown(`${name}\0${labelValues.join("\0")}`, value);
          if (by === 0) continue;
          const labels = new Map(labelNames.map((label, at) => [label, labelValues[at] ?? ""]));
          sets.push({ metric: name, labels, by });
        }
      }
    }
    return {
      means,
      of(metric, label, where) {
        const sums = new Map<string, number>();
        for (const { metric: counted, labels, by } of sets) {
          if (counted !== metric || (where !== undefined && labels.get(where[0]) !== where[1])) continue;
          const name = labels.get(label) ?? "";
          sums.set(name, (sums.get(name) ?? 0) + by);
        }
        return sums;
      },
    };
  };
}

const historyRecord = ({ kind, name, at, measures }: Point<Measures>): Omit<HistoryRecord, "node"> => ({
  time: new Date(at).toISOString(),
  kind: kind as Kind,
  name,
  attempts: measures.attempts ?? null,
  failures: measures.failures ?? null,
  ttfb_p50_ms: measures.ttfb_p50_ms ?? null,
  ttfb_p95_ms: measures.ttfb_p95_ms ?? null,
  in_flight: measures.in_flight ?? null,
  input_tokens: measures.input_tokens ?? null,
  output_tokens: measures.output_tokens ?? null,
  used: measures.used ?? null,
  refused: measures.refused ?? null,
  decisions: measures.decisions ?? null,
  findings: measures.findings ?? null,
  types: measures.types ?? null,
  held_bytes: measures.held_bytes ?? null,
  applied_index: measures.applied_index ?? null,
  commit_ms: measures.commit_ms ?? null,
});
