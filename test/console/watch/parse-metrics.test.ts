/** Parsing a metrics page, and computing rates. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { KEPT_POINTS } from "../../../src/console/model/data.ts";
import {
  advance,
  MAX_PAGE_LENGTH,
  MAX_PAGE_LINES,
  NO_SERIES,
  parseMetrics,
  type Scrape,
  type Series,
} from "../../../src/console/watch/parse-metrics.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import { createLists, startPeer } from "./support/peer.ts";
import { QUICK, startWatch } from "./support/watching.ts";

const PAGE = `# HELP gateway_requests_total Requests answered, refused or abandoned (status 499).
# TYPE gateway_requests_total counter
gateway_requests_total{route="chat",provider="a",model="m",status="200",code=""} 10
gateway_requests_total{route="chat",provider="a \\"b\\" \\\\ }",model="m",status="503",code="x"} 3 1700000000000
gateway_requests_total{status="429",code="budget_exhausted"} 2
gateway_requests_total_other{status="500"} 100
# TYPE gateway_overhead_seconds histogram
gateway_overhead_seconds_bucket{le="0.001",route="chat"} 4
gateway_overhead_seconds_bucket{le="0.002",route="chat"} 8
gateway_overhead_seconds_bucket{le="+Inf",route="chat"} 10
gateway_overhead_seconds_bucket{le="0.001",route="mcp"} 1
gateway_overhead_seconds_sum{route="chat"} 0.1
gateway_in_flight_requests 7
process_resident_memory_bytes 1e9
`;

const scrapeOf = (page: string): Scrape => {
  const parsed = parseMetrics(page);
  assert.ok(parsed.kind === "scrape");
  return parsed.scrape;
};

test("a metric is summed over its label sets", () => {
  const scrape = scrapeOf(PAGE);
  assert.deepEqual(scrape, {
    requests: 15,
    errors: 3,
    inFlight: 7,
    overhead: new Map([
      [0.001, 5],
      [0.002, 8],
      [Number.POSITIVE_INFINITY, 10],
    ]),
  });
  assert.deepEqual(scrapeOf(PAGE.replaceAll("\n", "\r\n")), scrape);
});

test("a counter without increments is 0, and a missing one is unknown", () => {
  assert.equal(scrapeOf("# TYPE gateway_requests_total counter\n").requests, 0);
  assert.deepEqual(scrapeOf("some_other_page 1"), {
    requests: null,
    errors: null,
    inFlight: null,
    overhead: new Map(),
  });
});

const SENSELESS = [
  "gateway_in_flight_requests",
  "gateway_in_flight_requests NaN",
  "gateway_in_flight_requests +Inf",
  "gateway_in_flight_requests 1 2 3",
  'gateway_in_flight_requests{a="b" 1',
  'gateway_in_flight_requests{a="b} 1',
  'gateway_overhead_seconds_bucket{le="x"} 1',
  "gateway_overhead_seconds_bucket 1",
];

for (const line of SENSELESS) {
  test(`an invalid line is skipped: ${line}`, () => {
    const { inFlight, overhead } = scrapeOf(`${line}\n# TYPE gateway_in_flight_requests gauge`);
    assert.deepEqual([inFlight, overhead.size], [null, 0]);
  });
}

test("a page that exceeds the limits is refused", () => {
  assert.equal(parseMetrics("x".repeat(MAX_PAGE_LENGTH)).kind, "scrape");
  assert.equal(parseMetrics("x".repeat(MAX_PAGE_LENGTH + 1)).kind, "refused");
  assert.equal(parseMetrics("\n".repeat(MAX_PAGE_LINES)).kind, "scrape");
  assert.equal(parseMetrics("\n".repeat(MAX_PAGE_LINES + 1)).kind, "refused");
});

test("any page is parsed quickly and without an error", () => {
  const piece = fc.constantFrom(
    ...PAGE.split("\n"),
    "{",
    "}",
    'a="',
    "\\",
    ",",
    "le=",
    "gateway_requests_total{",
    "\n",
  );
  const page = fc.array(fc.oneof(piece, fc.string({ unit: "binary" })), { maxLength: 40 }).map((it) => it.join(""));
  fc.assert(fc.property(page, (text) => parseMetrics(text).kind === "scrape"));
  const startedAt = cpuMs();
  parseMetrics(`gateway_requests_total{${'a="\\\\",'.repeat(500_000)}`);
  parseMetrics(`gateway_requests_total{a="${'\\"'.repeat(1_500_000)}`);
  parseMetrics(`gateway_in_flight_requests ${" ".repeat(2_000_000)}x`);
  assert.ok(cpuMs() - startedAt < 2_000, `${cpuMs() - startedAt} ms`);
});

const scrape = (requests: number, errors = 0, buckets: readonly (readonly [number, number])[] = []): Scrape => ({
  requests,
  errors,
  inFlight: requests,
  overhead: new Map(buckets),
});
const steps = (...scrapes: readonly (Scrape | undefined)[]): Series =>
  scrapes.reduce<Series>((series, it, at) => advance(series, { scrape: it, at: at * 2_000 }), NO_SERIES);

test("rates are computed between two scrapes; failures and restarts leave a gap", () => {
  const { metrics } = steps(scrape(10, 1), scrape(30, 3), undefined, scrape(50), scrape(60), scrape(4), scrape(6));
  assert.deepEqual(metrics.requests, [null, 10, null, null, 5, null, 1]);
  assert.deepEqual(metrics.errors, [null, 1, null, null, 0, null, 0]);
  assert.deepEqual(metrics.inFlight, [10, 30, null, 50, 60, 4, 6]);
});

test("missing scrapes are gaps, and the number of points is limited", () => {
  const two = advance(steps(scrape(10)), { scrape: scrape(50), at: 8_000 });
  assert.deepEqual(two.metrics.requests, [null, null, null, null, null]);
  const many = advance(two, { scrape: scrape(90), at: 8_000 + 1e9 });
  assert.equal(many.metrics.requests.length, KEPT_POINTS);
  const back = advance(two, { scrape: scrape(90), at: 0 });
  assert.equal(back.metrics.requests.at(-1), null);
});

test("percentiles are of the interval, interpolated linearly within a bucket", () => {
  const infinity = Number.POSITIVE_INFINITY;
  const before = scrape(0, 0, [
    [0.001, 100],
    [0.002, 100],
    [infinity, 100],
  ]);
  const after = scrape(0, 0, [
    [0.001, 150],
    [0.002, 190],
    [infinity, 200],
  ]);
  const { p50, p95, p99 } = steps(before, after).metrics.overhead;
  assert.deepEqual([p50, p95, p99], [1, 2, 2]);
  const { p50: half } = steps(
    before,
    scrape(0, 0, [
      [0.001, 120],
      [0.002, 180],
      [infinity, 180],
    ]),
  ).metrics.overhead;
  assert.ok(half !== null && Math.abs(half - 1 - 20 / 60) < 1e-9, `${half}`);
  assert.deepEqual(steps(before, before).metrics.overhead, { p50: null, p95: null, p99: null });
});

test("percentiles are within the bounds and in order, for any counts", () => {
  const bounds = [0.001, 0.01, 0.1, Number.POSITIVE_INFINITY];
  const counts = fc.array(fc.nat(1_000), { minLength: 4, maxLength: 4 });
  fc.assert(
    fc.property(counts, counts, (first, second) => {
      const sum = (of: readonly number[], at: number): number => of.slice(0, at + 1).reduce((a, b) => a + b, 0);
      const one = bounds.map((bound, at) => [bound, sum(first, at)] as const);
      const two = one.map(([bound, count], at) => [bound, count + sum(second, at)] as const);
      const total = sum(second, 3);
      const { p50, p95, p99 } = steps(scrape(0, 0, one), scrape(0, 0, two)).metrics.overhead;
      if (total === 0) return p50 === null && p95 === null && p99 === null;
      return p50 !== null && p95 !== null && p99 !== null && p50 >= 0 && p50 <= p95 && p95 <= p99 && p99 <= 100;
    }),
  );
});

test("metrics are scraped while needed, with or without an endpoint, and keep their points after a failure", async (t) => {
  const peer = await startPeer(t, "a", (_path, _response, request) => request.socket.destroy());
  // It fails once points were seen, not after so many readings: on a busy machine they may be too far apart for a point.
  let isFailing = false;
  const scrapeIt = async (): Promise<string> => {
    if (isFailing) throw new Error("no page today");
    return PAGE;
  };
  const watch = startWatch(t, [peer.endpoint], {
    intervals: { ...QUICK, scrapeMs: 30 },
    metricsUrl: "u",
    scrape: scrapeIt,
  });
  const need = { id: "metrics" } as const;
  watch.need([need]);
  await watch.sees("points", ({ get }) => get(need)?.value?.requests.includes(0));
  isFailing = true;
  const failed = await watch.sees("the failure", ({ get }) => get(need)?.failure && get(need));
  assert.equal(failed.failure?.message, "no page today");
  assert.equal(failed.value?.inFlight.at(-1), null);
  assert.ok(failed.value?.inFlight.includes(7));
});

test("without a metrics address the reading fails with a reason", async (t) => {
  const peer = await startPeer(t, "a", createLists().handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
  watch.need([{ id: "metrics" }]);
  const failure = await watch.sees("the failure", ({ get }) => get({ id: "metrics" })?.failure);
  assert.equal(failure.code, "not_found");
});
