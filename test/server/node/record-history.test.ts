/** Request outcomes and counters as ten-second history. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createInstruments } from "../../../src/base/index.ts";
import { createStatistics } from "../../../src/server/dataplane/index.ts";
import { openHistory } from "../../../src/server/node/record-history.ts";

const START = Date.UTC(2026, 10, 20, 12, 0, 3);

function open() {
  let ms = 0;
  const clock = { now: () => START + ms, monotonic: () => 1_000_000 + ms };
  const statistics = createStatistics(clock);
  statistics.configure(["acme"]);
  const instruments = createInstruments();
  const tokens = instruments.counter("gateway_tokens_total", "", ["provider", "model", "kind"]);
  tokens.with("acme", "m-*", "input").inc(1_000);
  const cluster = { status: () => ({ nodeId: "n1", applied: 7 }) as never };
  const history = openHistory({ statistics, instruments, cluster, clock });
  const bucket = (work: () => void) => {
    work();
    ms += 10_000;
    history.sample();
    return history.rows.history.list().filter(({ time }) => Date.parse(time) >= START - 3_000 + ms - 10_000);
  };
  return {
    statistics,
    instruments,
    tokens,
    bucket,
    minutes: () => history.rows.history_minutes.list(),
    close: history.close,
  };
}

const measured = (row: object) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== "n1"));

test("attempts, tokens, budgets, guardrails and the cluster are recorded every ten seconds, and idle ones are not", (t) => {
  const { statistics, instruments, tokens, bucket, close } = open();
  t.after(close);
  const rows = bucket(() => {
    const attempt = statistics.of("acme", "m-*");
    attempt?.beginAttempt(false);
    attempt?.beginAttempt(false);
    attempt?.recordAnswer(20);
    attempt?.endAttempt();
    tokens.with("acme", "m-*", "input").inc(30);
    tokens.with("acme", "m-*", "cached_input").inc(10);
    tokens.with("acme", "m-*", "output").inc(5);
    const requests = instruments.counter("gateway_requests_total", "", ["route", "status"]);
    requests.with("chat", "200").inc(2);
    requests.with("models", "200").inc();
    requests.with("chat", "429").inc(4);
    instruments.counter("gateway_budget_units_total", "", ["budget"]).with("day").inc(40);
    const refusals = instruments.counter("gateway_budget_refusals_total", "", ["budget", "code"]);
    refusals.with("day", "budget_exhausted").inc();
    refusals.with("day", "budget_unavailable").inc(2);
    instruments.counter("gateway_guardrail_decisions_total", "", ["rule", "action"]).with("cards", "deny").inc(3);
    const findings = instruments.counter("gateway_detector_findings_total", "", ["detector", "type"]);
    findings.with("pii", "EMAIL_ADDRESS").inc();
    findings.with("pii", "CREDIT_CARD").inc(3);
    instruments.histogram("gateway_guardrail_stream_held_bytes", "", [1]).with().observe(600);
    instruments.histogram("gateway_cluster_write_seconds", "", [1]).with().observe(0.004);
  });
  const time = "2026-11-20T12:00:00.000Z";
  const [card, email] = [
    { type: "CREDIT_CARD", findings: 3 },
    { type: "EMAIL_ADDRESS", findings: 1 },
  ];
  const attempts = { attempts: 1, failures: 0, in_flight: 2, input_tokens: 30, output_tokens: 5 };
  const met = rows.filter(({ kind }) => kind === "backends" || kind === "models").map(measured);
  for (const row of met) {
    const { ttfb_p50_ms: p50, ttfb_p95_ms: p95 } = row;
    assert.ok(Math.abs(Number(p50) - 20) <= 1 && p95 === p50);
    delete row["ttfb_p50_ms"];
    delete row["ttfb_p95_ms"];
  }
  assert.deepEqual(met, [
    { time, kind: "backends", name: "acme", ...attempts },
    { time, kind: "models", name: "m-*", ...attempts },
  ]);
  assert.deepEqual(rows.filter(({ kind }) => kind !== "backends" && kind !== "models").map(measured), [
    { time, kind: "requests", name: "200", attempts: 3 },
    { time, kind: "requests", name: "429", attempts: 4 },
    { time, kind: "budgets", name: "day", used: 40, refused: 3 },
    { time, kind: "guardrails", name: "cards", decisions: 3 },
    { time, kind: "guardrails", name: "pii", findings: 4, types: [card, email] },
    { time, kind: "guardrails", name: "streams", held_bytes: 600 },
    { time, kind: "cluster", applied_index: 7, commit_ms: 4 },
  ]);
  const later = bucket(() => {
    statistics.of("acme", "m-*")?.recordFailure({
      ...{ kind: "5xx", status: 503, attempt: 1, movedTo: null, request: "r", caller: null, model: null },
      ...{ durationMs: 1, error: undefined },
    });
    statistics.of("acme", "m-*")?.endAttempt();
  });
  const next = "2026-11-20T12:00:10.000Z";
  const failed = { time: next, attempts: 1, failures: 1, in_flight: 1 };
  assert.deepEqual(later.map(measured), [
    { kind: "backends", name: "acme", ...failed },
    { kind: "models", name: "m-*", ...failed },
    { time: next, kind: "cluster", applied_index: 7 },
  ]);
  assert.deepEqual(
    bucket(() => undefined).map(({ kind }) => kind),
    ["cluster"],
  );
});

test("the buckets of a minute become one row of the hour once the minute has ended", (t) => {
  const { statistics, tokens, bucket, minutes, close } = open();
  t.after(close);
  for (let at = 0; at < 5; at += 1) {
    bucket(() => {
      const attempt = statistics.of("acme", "m-*");
      attempt?.beginAttempt(false);
      attempt?.recordAnswer(20);
      attempt?.endAttempt();
      tokens.with("acme", "m-*", "input").inc(10);
    });
  }
  assert.deepEqual(minutes(), []);
  bucket(() => undefined);
  const time = "2026-11-20T12:00:00.000Z";
  const [row, cluster] = minutes().filter(({ kind }) => kind === "backends" || kind === "cluster");
  assert.deepEqual(
    [row?.time, row?.name, row?.attempts, row?.failures, row?.input_tokens, row?.in_flight],
    [time, "acme", 5, 0, 50, 1],
  );
  assert.ok(Math.abs(Number(row?.ttfb_p50_ms) - 20) <= 1 && Math.abs(Number(row?.ttfb_p95_ms) - 20) <= 1);
  assert.deepEqual([cluster?.time, cluster?.applied_index], [time, 7]);
});
