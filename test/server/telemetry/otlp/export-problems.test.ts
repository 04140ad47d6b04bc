import assert from "node:assert/strict";
import { test } from "node:test";
import { createInstruments, type LogFields, nullLog } from "../../../../src/base/index.ts";
import { createExportProblems } from "../../../../src/server/telemetry/otlp/export-problems.ts";
import { freePort } from "../../../e2e/support/ports.ts";
import { eventually } from "../../../e2e/support/wait.ts";
import { startBlackhole, startCollector } from "./collector.ts";
import { opened, trace } from "./support.ts";

const FAILURES = "gateway_telemetry_export_failures_total";
const DROPPED = "gateway_telemetry_dropped_total";

function watched() {
  const reported: { readonly message: string; readonly fields: LogFields | undefined; readonly speaking: boolean }[] =
    [];
  let at = 1_000_000;
  const problems = createExportProblems({
    instruments: createInstruments(),
    log: {
      ...nullLog,
      warn: (message, fields) => void reported.push({ message, fields, speaking: problems.isLogging() }),
    },
    now: () => at,
    queues: ["traces", "logs"],
  });
  const advance = (ms: number): void => {
    at += ms;
  };
  return { problems, lines: reported, advance };
}

test("failures are logged at most once a minute, with the number in between", () => {
  const { problems, lines, advance } = watched();
  const error = new Error("refused");
  problems.recordFailure("traces", 1, error);
  advance(59_999);
  problems.recordFailure("traces", 1, error);
  problems.recordFailure("logs", 1, error);
  assert.equal(lines.length, 1);
  advance(1);
  problems.recordFailure("logs", 1, error);
  assert.deepEqual(
    lines.map(({ fields }) => fields?.["failures"]),
    [{ traces: 1 }, { traces: 1, logs: 2 }],
  );
});

test("its own log lines are recognizable as its own", () => {
  const { problems, lines } = watched();
  problems.recordFailure("traces", 1, new Error("x"));
  assert.deepEqual([lines[0]?.speaking, problems.isLogging()], [true, false]);
});

test("startup warnings are logged once each, later ones once a minute, and none at length", () => {
  const { problems, lines, advance } = watched();
  problems.logLibraryError("one");
  problems.logLibraryError("two");
  problems.logLibraryError("one");
  problems.markStarted();
  problems.logLibraryError("three");
  problems.logLibraryError("four");
  advance(60_000);
  problems.logLibraryError("x".repeat(10_000));
  assert.deepEqual(
    lines.map(({ fields }) => String(fields?.["detail"]).slice(0, 5)),
    ["one", "two", "three", "xxxxx"],
  );
  assert.equal(String(lines[3]?.fields?.["detail"]).length, 500);
});

test("an unreachable collector costs counters and one line, which is not exported", async (t) => {
  const port = await freePort();
  const { otlp, log, lines, value } = await opened(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: "300",
    OTEL_BSP_SCHEDULE_DELAY: "10",
    OTEL_BLRP_SCHEDULE_DELAY: "10",
    OTEL_METRIC_EXPORT_INTERVAL: "50",
  });
  trace(otlp);
  log.info("one line");
  await eventually("failures of all", () => ["traces", "metrics", "logs"].every((it) => value(FAILURES, it) > 0));
  assert.equal(value(DROPPED, "traces"), 2);
  await eventually("the line to be given up", () => value(DROPPED, "logs") > 0);
  assert.equal(value(DROPPED, "logs"), 1);
  assert.equal(value(DROPPED, "metrics"), 0);
  assert.equal(value(FAILURES, "audit"), 0);
  const startedAt = performance.now();
  await otlp.close();
  assert.ok(performance.now() - startedAt < 5_500);
  assert.equal(lines().filter(({ message }) => message === "telemetry could not be exported").length, 1);
  assert.equal(value(DROPPED, "logs"), 1);
});

test("a refusal by the collector is not exported to it", async (t) => {
  const collector = await startCollector(t, 400);
  const { otlp, log, lines, advance, value } = await opened(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_METRICS_EXPORTER: "none",
    OTEL_BLRP_SCHEDULE_DELAY: "10",
  });
  for (const round of [1, 2, 3]) {
    log.info("a line", { round });
    await eventually("the refusal", () => value(FAILURES, "logs") >= round);
    advance(60_001);
  }
  await otlp.close();
  assert.equal(lines().filter(({ message }) => message === "telemetry could not be exported").length, 3);
  assert.deepEqual(new Set(collector.records("gateway/log").map(({ body }) => body)), new Set(["a line"]));
});

test("exported and failed records make room for more", async (t) => {
  for (const status of [200, 400]) {
    const collector = await startCollector(t, status);
    const { otlp, value } = await opened(t, {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_MAX_QUEUE_SIZE: "4",
      OTEL_BSP_SCHEDULE_DELAY: "1",
    });
    await eventually("ten times what the queue holds", () => {
      trace(otlp);
      return collector.spans().length >= 40;
    });
    assert.equal(value(FAILURES, "traces") > 0, status === 400);
    await otlp.close();
  }
});

test("a collector that never answers has a bounded queue and five seconds at the end", async (t) => {
  const { url } = await startBlackhole(t);
  const { otlp, log, lines, value } = await opened(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_BSP_MAX_QUEUE_SIZE: "64",
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "16",
    OTEL_BLRP_MAX_QUEUE_SIZE: "32",
    OTEL_BLRP_MAX_EXPORT_BATCH_SIZE: "32",
    OTEL_BSP_SCHEDULE_DELAY: "1",
    OTEL_BLRP_SCHEDULE_DELAY: "1",
    // Longer than the close, so that the close ends the wait, and short enough that this process ends too.
    OTEL_EXPORTER_OTLP_TIMEOUT: "5500",
    OTEL_BSP_EXPORT_TIMEOUT: "5500",
    OTEL_BLRP_EXPORT_TIMEOUT: "5500",
  });
  for (let i = 0; i < 500; i++) {
    trace(otlp);
    log.info("line", { i });
    otlp.exportAudit([{ node: "n1", seq: i, event: "access.decision", ts: "2026-01-01T00:00:00.000Z" }]);
  }
  // Queued and in-flight spans count together, so no more are held.
  assert.equal(value(DROPPED, "traces"), 1_000 - 64);
  assert.equal(value(DROPPED, "logs"), 500 - 32);
  assert.equal(value(DROPPED, "audit"), 500 - 32);
  const startedAt = performance.now();
  await otlp.close();
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < 5_500, `took ${tookMs} ms`);
  assert.ok(lines().some(({ message }) => message === "not all telemetry was exported before the process ended"));
});
