/** Computations of the bench and the soak: statistics, kernel figures, profiles, metrics, verdicts. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isReadyLine } from "../bench/parts/gateway.ts";
import { parsePsTime, parseStatTicks, parseStatusRss } from "../bench/parts/process-usage.ts";
import { sumSelfTimes } from "../bench/profile.ts";
import { align, judge } from "../bench/report.ts";
import { checkGrowth, reconcile } from "../bench/soak/checks.ts";
import { CLIENT_KINDS, modelOf } from "../bench/soak/clients.ts";
import { parseMetrics, sumOf } from "../bench/soak/metrics.ts";
import { median, percentile, slope, summarize } from "../bench/statistics.ts";

describe("statistics", () => {
  it("computes medians and percentiles by rank", () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 3, 2]), 2.5);
    assert.equal(percentile([5, 1, 4, 2, 3], 0.5), 3);
    assert.equal(percentile([1, 2, 3], 0.99), 3);
    assert.deepEqual(summarize([2, Number.NaN, 1, 3]), { median: 2, least: 1, most: 3 });
  });

  it("fits a slope that single outliers do not move", () => {
    const line = Array.from({ length: 30 }, (_, x) => ({ x, y: 5 + 2 * x }));
    const disturbed = line.map((point) => (point.x === 12 ? { x: 12, y: 900 } : point));
    assert.equal(slope(disturbed), 2);
  });
});

describe("kernel figures", () => {
  it("reads ticks behind a command name with spaces and parentheses", () => {
    const line = "42 (a) (b c) S 1 42 42 0 -1 4194304 101 0 0 0 250 50 9 9 20 0 11 0 639622 3133440 380";
    assert.equal(parseStatTicks(line), 300);
  });

  it("reads resident memory and the times printed by ps", () => {
    assert.equal(parseStatusRss("Name:\tnode\nVmHWM:\t  9 kB\nVmRSS:\t  1024 kB\n"), 1 << 20);
    assert.equal(parsePsTime(" 0:01.25\n"), 1.25);
    assert.equal(parsePsTime("1-02:03:04"), 93_784);
  });
});

describe("gateway output", () => {
  it("recognizes the ready line", () => {
    assert.equal(isReadyLine('{"level":"info","message":"ready","listen":"x"}'), true);
    assert.equal(isReadyLine('{"message":"not ready"}'), false);
    assert.equal(isReadyLine("ready"), false);
  });

  it("parses labels with commas and quotes, and sums by name", () => {
    const text = '# HELP a b\na_total{x="1,2",y="q\\"}"} 3\na_total{x="",y=""} 4 1700000000\na_totals 9\n';
    const series = parseMetrics(text);
    assert.deepEqual(series[0], { name: "a_total", labels: { x: "1,2", y: 'q\\"}' }, value: 3 });
    assert.equal(sumOf(series, "a_total"), 7);
    assert.equal(sumOf(series, "absent"), Number.NaN);
  });

  it("sums the self time of functions in one place, without idle time and startup", () => {
    const frame = (functionName: string, url = "") => ({ functionName, url, lineNumber: 6 });
    const profile = {
      nodes: [
        { id: 1, callFrame: frame("(idle)") },
        { id: 2, callFrame: frame("serve", "file:///srv/main.js") },
        { id: 3, callFrame: frame("serve", "file:///srv/main.js") },
        { id: 4, callFrame: frame("writev") },
      ],
      samples: [4, 1, 2, 4, 3],
      timeDeltas: [900, 1_000, 10, 50, 20],
      startTime: 4_000,
    };
    assert.deepEqual(sumSelfTimes(profile, 5_000), [
      { where: "writev", area: "engine and system calls", selfUs: 50 },
      { where: "serve main.js:7", area: "gateway", selfUs: 30 },
    ]);
  });
});

describe("verdicts", () => {
  it("judges a value at its limit as met, and an unknown one as missed", () => {
    assert.equal(judge(1.25, 1.25), "pass");
    assert.equal(judge(1.26, 1.25), "MISS");
    assert.equal(judge(Number.NaN, 1.25), "MISS");
    assert.equal(judge(9, undefined), "");
  });

  it("aligns figures to the right", () => {
    assert.equal(
      align([
        ["a", "1"],
        ["bb", "10"],
      ]),
      "  a    1\n  bb  10",
    );
  });

  it("detects growth after settling and ignores growth before", () => {
    const bounds = { name: "memory", unit: "MiB", maxRise: 2 };
    const points = (y: (x: number) => number) => Array.from({ length: 90 }, (_, x) => ({ x, y: y(x) }));
    assert.equal(
      checkGrowth(
        points((x) => 50 + Math.min(x, 20)),
        bounds,
      ).isGood,
      true,
    );
    assert.equal(
      checkGrowth(
        points((x) => 50 + x / 20),
        bounds,
      ).isGood,
      false,
    );
    assert.equal(checkGrowth([], bounds).isGood, false);
  });

  it("finds one request that only one side counted", () => {
    const kinds = CLIENT_KINDS.map((kind) => ({ kind, sent: 10, surprised: 0, surprises: [] }));
    const seen = kinds.filter(({ kind }) => kind.endsAs !== "unseen");
    const count = (as: string) => 10 * seen.filter(({ kind }) => kind.endsAs === as).length;
    const upstream = {
      requests: 10 * seen.length,
      answered: count("answered"),
      aborted: count("aborted"),
      dropped: count("dropped"),
      byModel: Object.fromEntries(seen.map(({ kind }) => [modelOf(kind), 10])),
    };
    const metrics = (requests: number) => [
      { name: "gateway_requests_total", labels: {}, value: requests },
      { name: "gateway_upstream_attempts_total", labels: {}, value: 10 * seen.length },
    ];
    const bad = (requests: number) => reconcile(kinds, metrics(requests), upstream).filter(({ isGood }) => !isGood);
    assert.deepEqual(bad(10 * kinds.length), []);
    assert.equal(bad(10 * kinds.length - 1).length, 1);
  });
});
