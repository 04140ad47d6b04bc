import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import canonicalize from "canonicalize";
import { Registry } from "prom-client";
import { createInstruments, nullLog } from "../../../../src/base/index.ts";
import { exposeInstruments, openOtlp } from "../../../../src/server/telemetry/index.ts";
import { atEnd, eventually } from "../../../e2e/support/wait.ts";
import { type SeenMetric, startCollector } from "./collector.ts";
import { opened, trace } from "./support.ts";

const JSON_TO = (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" });

/** Parses an exposition into values by `name{labels}`. */
function scraped(text: string): ReadonlyMap<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
}

/** Returns the same series from OTLP. */
function pushed(metrics: readonly SeenMetric[]): ReadonlyMap<string, number> {
  const series = new Map<string, number>();
  const put = (name: string, labels: Readonly<Record<string, unknown>>, value: number | undefined) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${String(text)}"`);
    series.set(pairs.length === 0 ? name : `${name}{${pairs.join(",")}}`, value ?? Number.NaN);
  };
  for (const { name, kind, points } of metrics) {
    for (const { attributes, value, counts, bounds, sum, count } of points) {
      if (kind !== "histogram") {
        put(name, attributes, value);
        continue;
      }
      let cumulative = 0;
      counts.forEach((inBucket, at) => {
        cumulative += inBucket;
        const le = at < bounds.length ? String(bounds[at]) : "+Inf";
        put(`${name}_bucket`, { ...attributes, le }, cumulative);
      });
      put(`${name}_sum`, attributes, sum);
      put(`${name}_count`, attributes, count);
    }
  }
  return series;
}

/** Sorts the labels of each series. */
function ordered(series: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  const normal = (key: string) => {
    const [name = "", labels = ""] = key.replace(/\}$/, "").split("{");
    return `${name}{${labels.split(",").sort().join(",")}}`;
  };
  return [...series].map(([key, value]) => [normal(key), value] as const).sort(([a], [b]) => (a < b ? -1 : 1));
}

test("the series of the scrape and of OTLP are identical", async (t) => {
  const collector = await startCollector(t);
  const { otlp, instruments } = await opened(t, JSON_TO(collector.url));
  const requests = instruments.counter("gateway_requests_total", "Requests.", ["route", "status"]);
  requests.with("chat_completions", "200").inc(41);
  requests.with("messages", "503").inc(0.5);
  instruments.counter("gateway_untouched_total", "Nothing yet.").with();
  instruments.gauge("gateway_open", "Open.", ["provider"]).with("a").set(-3);
  instruments.observedGauge("gateway_depth", "Depth.", () => 17);
  const seconds = instruments.histogram("gateway_overhead_seconds", "Overhead.", [0.001, 0.01, 2.5], ["route"]);
  for (const value of [0.0005, 0.001, 0.002, 3, 99]) seconds.with("chat_completions").observe(value);
  seconds.with("messages");

  await otlp.close();
  const registry = new Registry();
  exposeInstruments(registry, instruments).sync();
  const scrape = ordered(scraped(await registry.metrics()));
  assert.ok(scrape.length > 20);
  assert.deepEqual(ordered(pushed(collector.metrics())), scrape);
  const kinds = new Map(collector.metrics().map((metric) => [metric.name, metric]));
  assert.equal(kinds.get("gateway_requests_total")?.kind, "sum");
  assert.equal(kinds.get("gateway_requests_total")?.isMonotonic, true);
  assert.equal(kinds.get("gateway_open")?.kind, "gauge");
  assert.deepEqual([...new Set(collector.metrics().map(({ unit }) => unit))], [""]);
});

test("a gauge that cannot be read is left out, and the rest is exported", async (t) => {
  const collector = await startCollector(t);
  const { otlp, instruments } = await opened(t, JSON_TO(collector.url));
  instruments.observedGauge("broken", "Never.", () => Number.NaN);
  instruments.observedGauge("sound", "Always.", () => 1);
  await otlp.close();
  const points = new Map(collector.metrics().map(({ name, points }) => [name, points.map(({ value }) => value)]));
  assert.deepEqual([points.get("broken"), points.get("sound")], [[], [1]]);
});

test("the resource has service, version and node, and the environment overrides it", async (t) => {
  const first = await startCollector(t);
  await (await opened(t, JSON_TO(first.url))).otlp.close();
  const plain = first.resource("/v1/metrics");
  assert.equal(plain["service.name"], "gateway");
  assert.equal(plain["service.version"], "1.2.3");
  assert.equal(plain["service.instance.id"], "n1");
  assert.equal(plain["process.runtime.name"], "nodejs");
  assert.equal(plain["process.command_args"], undefined);

  const second = await startCollector(t);
  const named = { OTEL_SERVICE_NAME: "edge", OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=prod" };
  await (await opened(t, { ...JSON_TO(second.url), ...named })).otlp.close();
  assert.equal(second.resource("/v1/metrics")["service.name"], "edge");
  assert.equal(second.resource("/v1/metrics")["deployment.environment.name"], "prod");
});

test("a log line is a record of its level, with its fields as attributes", async (t) => {
  const collector = await startCollector(t);
  const { otlp, log } = await opened(t, JSON_TO(collector.url));
  log.error("it broke", { attempt: 2, error: new TypeError("why", { cause: new Error("deep") }), list: ["a", 1] });
  await otlp.close();
  assert.deepEqual(collector.records("gateway/log"), [
    {
      scope: "gateway/log",
      body: "it broke",
      severity: "ERROR",
      attributes: {
        attempt: 2,
        error: { name: "TypeError", message: "why", cause: { name: "Error", message: "deep" } },
        list: ["a", 1],
      },
    },
  ]);
});

test("the bodies of the audit scope, written back as lines, are the canonical records byte for byte", async (t) => {
  const collector = await startCollector(t);
  const { otlp } = await opened(t, JSON_TO(collector.url));
  const records = [1, 2].map((seq) => ({
    audit: 1,
    node: "n1",
    kid: "k",
    seq,
    prev: "p",
    ts: "2026-01-02T03:04:05.678Z",
    event: "access.decision",
    controls: ["c-1"],
    data: { text: 'ünïcode \u2028 "quoted" \\ 😀', big: 1e21, small: 0.1, z: null, a: [true] },
    hash: "h",
    sig: "s",
  }));
  otlp.exportAudit(records);
  await otlp.close();
  const seen = collector.records("gateway/audit");
  assert.deepEqual(
    seen.map(({ body }) => body),
    records.map((record) => canonicalize(record)),
  );
  assert.deepEqual(seen[1]?.attributes, { "event.name": "access.decision", "audit.node": "n1", "audit.seq": 2 });
});

test("protobuf over HTTP is the default, with headers and compression from the environment", async (t) => {
  const collector = await startCollector(t);
  const { otlp, log } = await opened(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=blue",
    OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
  });
  log.info("hello collector");
  trace(otlp);
  await otlp.close();
  const paths = new Set(collector.posted.map(({ path }) => path));
  assert.deepEqual([...paths].sort(), ["/v1/logs", "/v1/metrics", "/v1/traces"]);
  for (const { headers, body } of collector.posted) {
    assert.equal(headers["content-type"], "application/x-protobuf");
    assert.equal(headers["content-encoding"], "gzip");
    assert.equal(headers["x-tenant"], "blue");
    assert.ok(body.length > 100);
  }
  const logs = collector.posted.find(({ path }) => path === "/v1/logs")?.body.toString("latin1") ?? "";
  assert.ok(logs.includes("hello collector") && logs.includes("gateway/log"));
});

test("gRPC is used if the environment says so", async (t) => {
  const called: { readonly path: string; readonly body: Buffer }[] = [];
  const server = createHttp2Server();
  server.on("stream", (stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      called.push({ path: String(headers[":path"]), body: Buffer.concat(chunks) });
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.alloc(5)); // an empty message
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(t, () => void server.close());
  const { port } = server.address() as AddressInfo;
  const { otlp, log, value } = await opened(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
  });
  log.info("hello collector");
  trace(otlp);
  await otlp.close();
  const services = called.map(({ path }) => /v1\.(\w+)\/Export$/.exec(path)?.[1]).sort();
  assert.deepEqual(services, ["LogsService", "MetricsService", "TraceService"]);
  assert.ok(called.some(({ body }) => body.includes("hello collector")));
  for (const signal of ["traces", "metrics", "logs"]) {
    assert.equal(value("gateway_telemetry_export_failures_total", signal), 0);
  }
});

test("only the enabled signals are opened", async (t) => {
  const collector = await startCollector(t);
  const env = { ...JSON_TO(collector.url), OTEL_TRACES_EXPORTER: "none", OTEL_LOGS_EXPORTER: "none" };
  const { otlp } = await opened(t, env);
  assert.equal(otlp.tracing, undefined);
  assert.equal(otlp.logSink, undefined);
  otlp.exportAudit([{ node: "n", seq: 1, event: "chain.start", ts: "2026-01-01T00:00:00.000Z" }]);
  await otlp.close();
  assert.deepEqual(new Set(collector.posted.map(({ path }) => path)), new Set(["/v1/metrics"]));
});

test("an invalid environment variable causes a warning, and an unknown sampler is replaced by the default", async (t) => {
  const collector = await startCollector(t);
  const env = { ...JSON_TO(collector.url), OTEL_TRACES_SAMPLER: "nonsense", OTEL_LOGS_EXPORTER: "syslog" };
  const { otlp, lines } = await opened(t, env);
  trace(otlp);
  await otlp.close();
  assert.equal(collector.spans().length, 2);
  const text = JSON.stringify(lines());
  assert.match(text, /OTEL_LOGS_EXPORTER: only otlp/);
  assert.match(text, /OTEL_TRACES_SAMPLER/);
});

test("an environment without OTLP settings, or one that disables it, opens nothing", async () => {
  const options = {
    instruments: createInstruments(),
    sample: () => undefined,
    build: { version: "1", commit: "c", node: "n" },
    nodeId: "n1",
    log: nullLog,
    now: Date.now,
  };
  assert.equal(await openOtlp({ ...options, env: {} }), undefined);
  const disabled = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", OTEL_SDK_DISABLED: "true" };
  assert.equal(await openOtlp({ ...options, env: disabled }), undefined);
  assert.deepEqual(options.instruments.read(), []);
});

test("spans wait for their batch and no longer", async (t) => {
  const collector = await startCollector(t);
  const { otlp } = await opened(t, { ...JSON_TO(collector.url), OTEL_BSP_SCHEDULE_DELAY: "20" });
  trace(otlp);
  await eventually("the spans", () => collector.spans().length === 2);
});
