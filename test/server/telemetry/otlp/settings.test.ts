import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "../../../../src/server/telemetry/otlp/settings.ts";

const otlp = (protocol = "http/protobuf") => [{ kind: "otlp", protocol }];
const console = [{ kind: "console" }];
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

test("an empty environment enables nothing", () => {
  const silent = [
    {},
    { OTEL_SERVICE_NAME: "x", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "" },
    { OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none", OTEL_LOGS_EXPORTER: "none" },
    { ...ENDPOINT, OTEL_SDK_DISABLED: "true" },
    { ...ENDPOINT, OTEL_SDK_DISABLED: "TRUE", OTEL_TRACES_EXPORTER: "otlp" },
  ];
  for (const env of silent) assert.deepEqual(readSettings(env), { settings: undefined, warnings: [] });
});

test("endpoint and exporter variables decide which signals are enabled", () => {
  const cases = [
    { env: ENDPOINT, traces: otlp(), metrics: otlp(), logs: otlp() },
    { env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://c/x" }, traces: otlp(), metrics: [], logs: [] },
    { env: { OTEL_LOGS_EXPORTER: "otlp" }, traces: [], metrics: [], logs: otlp() },
    { env: { ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }, traces: [], metrics: otlp(), logs: otlp() },
    { env: { ...ENDPOINT, OTEL_TRACES_EXPORTER: "otlp,none" }, traces: [], metrics: otlp(), logs: otlp() },
    { env: { OTEL_METRICS_EXPORTER: "console, otlp" }, traces: [], metrics: [...console, ...otlp()], logs: [] },
    {
      env: { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc", OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: "http/json" },
      traces: otlp("grpc"),
      metrics: otlp("grpc"),
      logs: otlp("http/json"),
    },
    {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
      traces: otlp("grpc"),
      metrics: otlp("grpc"),
      logs: otlp("grpc"),
    },
  ];
  for (const { env, ...expected } of cases) {
    const { settings, warnings } = readSettings(env);
    const { traces, metrics, logs } = settings ?? {};
    assert.deepEqual({ traces, metrics, logs }, expected, JSON.stringify(env));
    assert.deepEqual(warnings, []);
  }
});

test("an invalid setting is named in a warning without its value, and is off or at its default", () => {
  const secret = "s3cret-value";
  const cases: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ OTEL_TRACES_EXPORTER: secret }, /OTEL_TRACES_EXPORTER: only otlp, console and none/],
    [{ OTEL_METRICS_EXPORTER: "prometheus" }, /OTEL_METRICS_EXPORTER: only/],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: secret }, /OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL/],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "::", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, /OTEL_EXPORTER_OTLP_ENDPOINT is not/],
    [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "ftp://x" }, /OTEL_EXPORTER_OTLP_LOGS_ENDPOINT is not/],
    [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: secret }, /OTEL_EXPORTER_OTLP_PROTOCOL is none of/],
    [{ ...ENDPOINT, OTEL_BSP_MAX_QUEUE_SIZE: secret }, /OTEL_BSP_MAX_QUEUE_SIZE is not a positive integer; 2048/],
    [{ ...ENDPOINT, OTEL_METRIC_EXPORT_INTERVAL: "0" }, /OTEL_METRIC_EXPORT_INTERVAL is not a positive integer/],
    [{ ...ENDPOINT, OTEL_PROPAGATORS: "b3" }, /OTEL_PROPAGATORS: only tracecontext/],
    [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: "delta" }, /cumulative/],
  ];
  for (const [env, expected] of cases) {
    const { warnings } = readSettings(env);
    assert.match(warnings.join("\n"), expected);
    assert.doesNotMatch(warnings.join("\n"), new RegExp(secret));
  }
  assert.equal(readSettings({ OTEL_TRACES_EXPORTER: "zipkin" }).settings, undefined);
  assert.deepEqual(readSettings({ ...ENDPOINT, OTEL_TRACES_EXPORTER: "zipkin" }).settings?.traces, []);
});

test("queues and intervals follow the environment, and a batch is no larger than its queue", () => {
  const { settings } = readSettings({
    ...ENDPOINT,
    OTEL_BSP_MAX_QUEUE_SIZE: "100",
    OTEL_BSP_SCHEDULE_DELAY: "50",
    OTEL_BLRP_EXPORT_TIMEOUT: "700",
    OTEL_METRIC_EXPORT_INTERVAL: "1000",
  });
  assert.deepEqual(settings?.spanBounds, {
    maxQueueSize: 100,
    maxExportBatchSize: 100,
    scheduledDelayMillis: 50,
    exportTimeoutMillis: 30_000,
  });
  assert.deepEqual(settings?.recordBounds, {
    maxQueueSize: 2_048,
    maxExportBatchSize: 512,
    scheduledDelayMillis: 1_000,
    exportTimeoutMillis: 700,
  });
  assert.equal(settings?.metricIntervalMs, 1_000);
  assert.equal(settings?.metricTimeoutMs, 1_000);
});

test("trace context is propagated unless the propagators leave it out", () => {
  const propagates = (text: string) => readSettings({ ...ENDPOINT, OTEL_PROPAGATORS: text }).settings?.propagates;
  assert.equal(readSettings(ENDPOINT).settings?.propagates, true);
  assert.equal(propagates("tracecontext,baggage"), true);
  assert.equal(propagates("baggage"), false);
  assert.equal(propagates("none"), false);
});
