/**
 * Metrics for the overview: reduces a page of Prometheus text to the few numbers that are shown, and consecutive scrapes to
 * rates and percentiles. Source: the Prometheus text exposition format 0.0.4; names from the data plane of the gateway. The
 * page is not trusted: its size is limited, and invalid lines are ignored.
 */

import { KEPT_POINTS, type Metrics, SCRAPE_MS } from "../model/data.ts";

export const MAX_PAGE_LENGTH = 4 << 20;
export const MAX_PAGE_LINES = 100_000;

const REQUESTS = "gateway_requests_total";
const OVERHEAD = "gateway_overhead_seconds_bucket";
const IN_FLIGHT = "gateway_in_flight_requests";

/** Values of one scrape, summed over all label sets; null if the page lacks the metric. */
export interface Scrape {
  readonly requests: number | null;
  /** Requests that were answered with 5xx. */
  readonly errors: number | null;
  readonly inFlight: number | null;
  /** Number of observations at or below each bound, by the bound in seconds. */
  readonly overhead: ReadonlyMap<number, number>;
}

type ParsedPage =
  | { readonly kind: "scrape"; readonly scrape: Scrape }
  | { readonly kind: "refused"; readonly reason: string };

export function parseMetrics(page: string): ParsedPage {
  if (page.length > MAX_PAGE_LENGTH)
    return { kind: "refused", reason: `The page is over ${MAX_PAGE_LENGTH} characters.` };
  const sums = { requests: null as number | null, errors: 0, inFlight: null as number | null };
  const overhead = new Map<number, number>();
  let lines = 0;
  for (let from = 0; from < page.length; ) {
    lines += 1;
    if (lines > MAX_PAGE_LINES) return { kind: "refused", reason: `The page has over ${MAX_PAGE_LINES} lines.` };
    const newline = page.indexOf("\n", from);
    const end = newline === -1 ? page.length : newline;
    if (page.startsWith("gateway_", from)) {
      const sample = parseSample(page.slice(from, end));
      switch (sample?.name) {
        case REQUESTS:
          sums.requests = (sums.requests ?? 0) + sample.value;
          if (/^5\d\d$/.test(sample.labels.get("status") ?? "")) sums.errors += sample.value;
          break;
        case IN_FLIGHT:
          sums.inFlight = (sums.inFlight ?? 0) + sample.value;
          break;
        case OVERHEAD: {
          const bound = numberOf(sample.labels.get("le") ?? "");
          if (bound !== undefined) overhead.set(bound, (overhead.get(bound) ?? 0) + sample.value);
          break;
        }
        default:
      }
    }
    // A counter without observations has no sample, but its type line is present.
    else if (page.startsWith(`# TYPE ${REQUESTS} `, from)) sums.requests ??= 0;
    from = end + 1;
  }
  const { requests, errors, inFlight } = sums;
  return { kind: "scrape", scrape: { requests, errors: requests === null ? null : errors, inFlight, overhead } };
}

interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  /** Finite number. */
  readonly value: number;
}

function parseSample(line: string): Sample | undefined {
  const name = /^[a-zA-Z_:][a-zA-Z0-9_:]*/.exec(line)?.[0];
  if (name === undefined || (name !== REQUESTS && name !== OVERHEAD && name !== IN_FLIGHT)) return undefined;
  const labels = new Map<string, string>();
  let at = name.length;
  if (line[at] === "{") {
    const pair = /[\s,]*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"/y;
    pair.lastIndex = at + 1;
    at = pair.lastIndex;
    for (let found = pair.exec(line); found !== null; found = pair.exec(line)) {
      const [, label = "", text = ""] = found;
      labels.set(
        label,
        text.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped)),
      );
      at = pair.lastIndex;
    }
    const close = /[\s,]*\}/y;
    close.lastIndex = at;
    if (close.exec(line) === null) return undefined;
    at = close.lastIndex;
  }
  const value = numberOf(/^\s*(\S+)(?:\s+-?\d+)?\s*$/.exec(line.slice(at))?.[1] ?? "");
  return value === undefined || !Number.isFinite(value) ? undefined : { name, labels, value };
}

function numberOf(text: string): number | undefined {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  const value = text === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Points so far, and the scrape from which the next interval is measured. */
export interface Series {
  readonly metrics: Metrics;
  /** Time in milliseconds. */
  readonly lastAt: number | undefined;
  readonly last: Scrape | undefined;
}

const NO_OVERHEAD: Metrics["overhead"] = { p50: null, p95: null, p99: null };

export const NO_SERIES: Series = {
  metrics: { requests: [], errors: [], inFlight: [], overhead: NO_OVERHEAD },
  lastAt: undefined,
  last: undefined,
};

/** Maximum interval, in scrape intervals: a longer gap is not filled with its mean. */
const MAX_STEP_RATIO = 2.5;

interface Step {
  /** New scrape; `undefined` if it failed. */
  readonly scrape: Scrape | undefined;
  /** Time in milliseconds. */
  readonly at: number;
  readonly everyMs?: number;
}

/** Returns the series with one more point, and a null for each missed scrape in between. */
export function advance({ metrics, lastAt, last }: Series, { scrape, at, everyMs = SCRAPE_MS }: Step): Series {
  const elapsedMs = lastAt === undefined ? 0 : Math.max(0, at - lastAt);
  const missed = Math.min(KEPT_POINTS, Math.max(0, Math.round(elapsedMs / everyMs) - 1));
  const isConsecutive = elapsedMs > 0 && elapsedMs <= MAX_STEP_RATIO * everyMs;
  const before =
    isConsecutive && last !== undefined && scrape !== undefined && !isRestart(last, scrape) ? last : undefined;
  const rate = (now: number | null | undefined, then: number | null | undefined): number | null =>
    typeof now === "number" && typeof then === "number" ? ((now - then) / elapsedMs) * 1_000 : null;
  const add = (points: readonly (number | null)[], value: number | null): readonly (number | null)[] =>
    [...points, ...Array.from({ length: missed }, () => null), value].slice(-KEPT_POINTS);
  return {
    metrics: {
      requests: add(metrics.requests, rate(scrape?.requests, before?.requests)),
      errors: add(metrics.errors, rate(scrape?.errors, before?.errors)),
      inFlight: add(metrics.inFlight, scrape?.inFlight ?? null),
      overhead: before === undefined || scrape === undefined ? NO_OVERHEAD : overheadOf(before, scrape),
    },
    lastAt: at,
    last: scrape,
  };
}

/** Returns whether the process restarted: otherwise counters only grow. */
function isRestart(before: Scrape, after: Scrape): boolean {
  const isLess = (now: number | null, then: number | null): boolean => (now ?? 0) < (then ?? 0);
  if (isLess(after.requests, before.requests) || isLess(after.errors, before.errors)) return true;
  return [...before.overhead].some(([bound, count]) => isLess(after.overhead.get(bound) ?? null, count));
}

function overheadOf(before: Scrape, after: Scrape): Metrics["overhead"] {
  const buckets = [...after.overhead]
    .map(([bound, count]) => ({ bound, count: count - (before.overhead.get(bound) ?? 0) }))
    .sort((a, b) => a.bound - b.bound);
  const at = (share: number): number | null => percentile(buckets, share);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

interface Bucket {
  /** Upper bound in seconds. */
  readonly bound: number;
  /** Number of observations at or below the bound. */
  readonly count: number;
}

/**
 * Returns a percentile in milliseconds, interpolated linearly within a bucket, at most the last finite bound. Null if nothing
 * was observed.
 */
function percentile(buckets: readonly Bucket[], share: number): number | null {
  const total = buckets.at(-1)?.count ?? 0;
  if (total <= 0) return null;
  const rank = share * total;
  let lower: Bucket = { bound: 0, count: 0 };
  for (const bucket of buckets) {
    if (bucket.count >= rank) {
      if (!Number.isFinite(bucket.bound)) break;
      const within = bucket.count - lower.count;
      const part = within <= 0 ? 1 : (rank - lower.count) / within;
      return (lower.bound + (bucket.bound - lower.bound) * part) * 1_000;
    }
    lower = bucket;
  }
  return lower.bound * 1_000;
}
