/**
 * Telemetry of a gateway process, as a collector sees it: the signals, the traces across it, what never leaves it, and
 * that an absent collector affects nobody.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { WebSocket } from "ws";
import { prometheusName } from "../../src/server/telemetry/index.ts";
import { type Collector, type SeenSpan, startBlackhole, startCollector } from "../server/telemetry/otlp/collector.ts";
import { startWithFiles, twoDialects } from "./support/config.ts";
import { startWithFlags } from "./support/gateway.ts";
import { readMetrics, sumOf } from "./support/metrics.ts";
import { exchange, headerOf, post, rawClient } from "./support/raw.ts";
import { simulated } from "./support/simulated.ts";
import { reply, scriptedUpstream } from "./support/upstream.ts";
import { atEnd, eventually, type Owner, within } from "./support/wait.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const CHAT = "/v1/chat/completions";
const FORMED = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

const to = (url: string): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
  OTEL_BSP_SCHEDULE_DELAY: "20",
  OTEL_BLRP_SCHEDULE_DELAY: "20",
  OTEL_METRIC_EXPORT_INTERVAL: "200",
});

function spansOf(collector: Collector, count: number): Promise<readonly SeenSpan[]> {
  return eventually(`${count} spans`, () => collector.spans().length >= count && collector.spans());
}

const server = (spans: readonly SeenSpan[]) => spans.find(({ kind }) => kind === 2);
const attempts = (spans: readonly SeenSpan[]) =>
  spans
    .filter(({ kind }) => kind === 3)
    .sort((a, b) => Number(a.attributes["gateway.attempt"]) - Number(b.attributes["gateway.attempt"]));

test("a trace continues through the gateway: client, request, one attempt per provider, and the providers", async (t) => {
  const collector = await startCollector(t);
  const [first, second] = [await scriptedUpstream(t), await scriptedUpstream(t)];
  first.script = (socket) => reply(socket, { status: 503, body: "no" });
  const failover = { to: ["second"], when: ["5xx"] };
  const gateway = await startWithFiles(
    t,
    {
      providers: [
        { name: "first", dialect: "compat", base_url: first.url, api_key: "k1", models: ["known-*"], failover },
        { name: "second", dialect: "compat", base_url: second.url, api_key: "k2" },
      ],
    },
    {},
    to(collector.url),
  );
  const context = [`traceparent: 00-${TRACE}-${PARENT}-01`, "tracestate: vendor=a", "Baggage: k=v"];
  const answer = await exchange(t, gateway.port, post(CHAT, '{"model":"known-model"}', context));
  assert.equal(answer.status, 200);

  const spans = await spansOf(collector, 3);
  const request = server(spans);
  const [one, two] = attempts(spans);
  assert.ok(request !== undefined && one !== undefined && two !== undefined);
  assert.deepEqual(new Set(spans.map(({ traceId }) => traceId)), new Set([TRACE]));
  assert.equal(request.parentSpanId, PARENT);
  assert.deepEqual([one.parentSpanId, two.parentSpanId], [request.spanId, request.spanId]);
  assert.equal(request.name, "chat known-*");
  assert.deepEqual(request.attributes, {
    "http.request.method": "POST",
    "url.scheme": "http",
    "http.response.status_code": 200,
    "http.route": "chat_completions",
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "second",
    "gen_ai.request.model": "known-*",
    "gateway.attempts": 2,
    "gateway.provider": "second",
    "gateway.model": "known-*",
  });
  assert.deepEqual(
    [one, two].map(({ attributes, status }) => [
      attributes["gateway.provider"],
      attributes["gateway.channel"],
      attributes["gateway.outcome"],
      attributes["http.response.status_code"],
      attributes["error.type"],
      status,
    ]),
    [
      ["first", "compat", "5xx", 503, "503", 2],
      ["second", "compat", "answered", 200, undefined, 0],
    ],
  );
  for (const [upstream, span] of [
    [first, one],
    [second, two],
  ] as const) {
    const headers = upstream.requests[0]?.headers ?? [];
    assert.deepEqual(
      headers.filter(([name]) => /^(traceparent|tracestate|baggage)$/i.test(name)),
      [
        ["traceparent", `00-${TRACE}-${span.spanId}-01`],
        ["tracestate", "vendor=a"],
        ["Baggage", "k=v"],
      ],
    );
  }
  // The data plane process that served it is named after the node.
  assert.match(String(collector.resource("/v1/traces")["service.instance.id"]), /^n1(\/\d+)?$/);
});

test("an invalid trace context begins a new trace, and its state is not forwarded", async (t) => {
  const collector = await startCollector(t);
  const upstream = await scriptedUpstream(t);
  const gateway = await startWithFlags(t, { upstream: upstream.url, env: to(collector.url) });
  const malformed = [
    ["traceparent: 00-00000000000000000000000000000000-b7ad6b7169203331-01"],
    ["traceparent: ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
    ["traceparent: nonsense"],
    [`traceparent: 00-${TRACE}-${PARENT}-01`, `traceparent: 00-${TRACE}-${PARENT}-01`],
    [],
  ];
  for (const lines of malformed) {
    const answer = await exchange(t, gateway.port, post(CHAT, '{"model":"m"}', [...lines, "tracestate: a=b"]));
    assert.equal(answer.status, 200);
    const { headers = [] } = upstream.requests.at(-1) ?? {};
    const sent = headers.filter(([name]) => /^trace(parent|state)$/i.test(name));
    assert.equal(sent.length, 1);
    const [, traceId] = FORMED.exec(sent[0]?.[1] ?? "") ?? [];
    assert.ok(traceId !== undefined && traceId !== TRACE);
  }
  const roots = (await spansOf(collector, 10)).filter(({ kind }) => kind === 2);
  assert.deepEqual(
    roots.map(({ parentSpanId }) => parentSpanId),
    malformed.map(() => undefined),
  );
});

test("a caller that asks not to be sampled is not sampled, and the providers learn so", async (t) => {
  const collector = await startCollector(t);
  const upstream = await scriptedUpstream(t);
  const gateway = await startWithFlags(t, { upstream: upstream.url, env: to(collector.url) });
  await exchange(t, gateway.port, post(CHAT, '{"model":"m"}', [`traceparent: 00-${TRACE}-${PARENT}-00`]));
  const [, traceId, spanId, flags] =
    FORMED.exec(headerOf({ headers: upstream.requests[0]?.headers ?? [] }, "traceparent") ?? "") ?? [];
  assert.deepEqual([traceId, flags], [TRACE, "00"]);
  assert.notEqual(spanId, PARENT);
  await exchange(t, gateway.port, post(CHAT, '{"model":"m"}'));
  assert.equal((await spansOf(collector, 2)).length, 2);
});

test("without tracing the context passes byte for byte", async (t) => {
  const upstream = await scriptedUpstream(t);
  const collector = await startCollector(t);
  const context = ["TraceParent: not even one", "tracestate: a=b", "TRACESTATE: c=d", "baggage: x=y"];
  for (const env of [{}, { ...to(collector.url), OTEL_TRACES_EXPORTER: "none" }] as Record<string, string>[]) {
    const gateway = await startWithFlags(t, { upstream: upstream.url, env });
    await exchange(t, gateway.port, post(CHAT, '{"model":"m"}', context));
    const sent = upstream.requests.at(-1)?.headers.filter(([name]) => /trace|baggage/i.test(name));
    assert.deepEqual(
      sent?.map(([name, value]) => `${name}: ${value}`),
      context,
    );
  }
});

test("refusals, provider errors and client disconnects are distinguished", async (t) => {
  const collector = await startCollector(t);
  const upstream = await scriptedUpstream(t);
  const gateway = await startWithFlags(t, { upstream: upstream.url, env: to(collector.url) });
  await exchange(t, gateway.port, post("/nowhere", "{}"));
  const [unknown] = await spansOf(collector, 1);
  assert.deepEqual(
    [
      unknown?.name,
      unknown?.attributes["gateway.code"],
      unknown?.attributes["http.response.status_code"],
      unknown?.status,
    ],
    ["POST", "not_found", 404, 0],
  );
  upstream.script = (socket) => socket.destroy();
  await exchange(t, gateway.port, post(CHAT, '{"model":"m"}'));
  const broken = (await spansOf(collector, 3)).slice(1);
  assert.deepEqual(
    [
      server(broken)?.attributes["error.type"],
      server(broken)?.status,
      attempts(broken)[0]?.attributes["gateway.outcome"],
    ],
    ["upstream_unreachable", 2, "connect"],
  );
  upstream.script = (socket) => reply(socket, { status: 400, body: '{"error":{}}' });
  await exchange(t, gateway.port, post(CHAT, '{"model":"m"}'));
  const rejected = (await spansOf(collector, 5)).slice(3);
  assert.deepEqual(
    [server(rejected)?.status, attempts(rejected)[0]?.status, attempts(rejected)[0]?.attributes["error.type"]],
    [0, 2, "400"],
  );
  upstream.script = () => client.socket.destroy();
  const client = await rawClient(t, gateway.port);
  client.send(post(CHAT, '{"model":"m"}'));
  const left = (await spansOf(collector, 7)).slice(5);
  assert.deepEqual(
    [server(left)?.attributes["http.response.status_code"], server(left)?.status, attempts(left)[0]?.status],
    [499, 0, 0],
  );
  assert.equal(attempts(left)[0]?.attributes["gateway.outcome"], "abandoned");
});

test("a session is a request with one attempt, whose context the provider receives", async (t) => {
  const collector = await startCollector(t);
  const provider = await simulated(t);
  const gateway = await startWithFiles(
    t,
    {
      catalog_overlays: [twoDialects("simulator", provider.url)],
      providers: [{ preset: "simulator", models: ["sim-*"] }],
    },
    {},
    to(collector.url),
  );
  const url = `${gateway.url.replace("http", "ws")}/v1/realtime?model=sim-realtime`;
  const socket = new WebSocket(url, {
    headers: { authorization: "Bearer client-key", traceparent: `00-${TRACE}-${PARENT}-01` },
  });
  atEnd(t, () => socket.terminate());
  await within("the session", new Promise((done) => socket.once("open", done)));
  socket.close(1000);
  const spans = await spansOf(collector, 2);
  const request = server(spans);
  assert.equal(request?.name, "generate_content sim-*");
  assert.equal(request?.parentSpanId, PARENT);
  assert.equal(request?.attributes["http.response.status_code"], 101);
  const [attempt] = attempts(spans);
  assert.equal(attempt?.parentSpanId, request?.spanId);
  assert.deepEqual(
    [attempt?.attributes["gateway.provider"], attempt?.attributes["gateway.outcome"], attempt?.status],
    ["simulator", "answered", 0],
  );
});

test("the scrape and the OTLP export of one process have the same series", async (t) => {
  const collector = await startCollector(t);
  const upstream = await scriptedUpstream(t);
  const gateway = await startWithFlags(t, { upstream: upstream.url, env: to(collector.url) });
  for (let i = 0; i < 5; i++) await exchange(t, gateway.port, post(CHAT, '{"model":"m"}'));
  const before = collector.posted.length;
  // Collected after the last request, like the scrape.
  await eventually(
    "two exports",
    () => collector.posted.slice(before).filter(({ path }) => path === "/v1/metrics").length >= 2,
  );
  const scrape = await readMetrics(gateway);
  const pushed = new Map(collector.metrics().map((metric) => [metric.name, metric]));
  const names = [...scrape.keys()].map((key) => key.split("{")[0] ?? "");
  const histograms = new Set(names.filter((name) => name.endsWith("_bucket")).map((name) => name.slice(0, -7)));
  const families = new Set(
    names.map((name) =>
      histograms.has(name.replace(/_(bucket|sum|count)$/, "")) ? name.replace(/_(bucket|sum|count)$/, "") : name,
    ),
  );
  // A histogram without observations has no line in the scrape.
  const shown = [...pushed.values()].filter(({ points }) => points.length > 0).map(prometheusName);
  assert.deepEqual(shown.sort(), [...families].sort());
  assert.ok(families.has("process_cpu_seconds_total") && families.has("gateway_build_info"));
  for (const name of ["gateway_requests_total", "gateway_upstream_attempts_total", "gateway_telemetry_dropped_total"]) {
    const total = pushed.get(name)?.points.reduce((sum, { value = 0 }) => sum + value, 0);
    assert.equal(total, sumOf(scrape, name), name);
  }
  const overhead = pushed.get("gateway_overhead_seconds")?.points[0];
  assert.equal(overhead?.count, sumOf(scrape, "gateway_overhead_seconds_count"));
  assert.equal(overhead?.sum, sumOf(scrape, "gateway_overhead_seconds_sum"));
});

test("no exported byte contains caller text", async (t) => {
  const canary = "canary4711";
  const collector = await startCollector(t);
  const upstream = await scriptedUpstream(t);
  upstream.script = (socket, { target }) => {
    if (target.includes("embeddings")) socket.destroy();
    else reply(socket, { status: target.includes("completions") ? 200 : 500, body: `{"text":"${canary}"}` });
  };
  const gateway = await startWithFlags(t, {
    upstream: upstream.url,
    env: { ...to(collector.url), GATEWAY_LOG: "debug" },
  });
  const headers = [
    ...[`authorization: Bearer ${canary}`, `x-api-key: ${canary}`, `x-anything: ${canary}`, `baggage: k=${canary}`],
    ...[`traceparent: 00-${TRACE}-${PARENT}-01-${canary}`, `tracestate: v=${canary}`],
  ];
  const body = `{"model":"${canary}","messages":[{"role":"user","content":"${canary}"}]}`;
  const paths = [CHAT, "/v1/embeddings", "/v1/messages", `/v1/files/${canary}`, `/v1/${canary}`, `/${canary}`];
  for (const path of paths) await exchange(t, gateway.port, post(`${path}?q=${canary}`, body, headers));
  await exchange(
    t,
    gateway.port,
    post(CHAT, body, [headers[0] ?? "", `traceparent: 01-${TRACE}-${PARENT}-01-${canary}`, `tracestate: v=${canary}`]),
  );
  await spansOf(collector, 12);
  await eventually("metrics", () => collector.metrics().some(({ name }) => name === "gateway_requests_total"));
  gateway.signal("SIGTERM");
  await gateway.ended;
  assert.ok(collector.posted.length >= 4 && collector.records("gateway/log").length > 0);
  for (const { path, body: exported } of collector.posted) {
    assert.ok(!exported.includes(canary), `${path}: ${exported.toString()}`);
  }
});

test("a collector that never answers slows no request, is counted, and does not delay the stop", async (t) => {
  const { url } = await startBlackhole(t);
  const upstream = await scriptedUpstream(t);
  const env = { ...to(url), OTEL_BSP_MAX_QUEUE_SIZE: "100", OTEL_BSP_SCHEDULE_DELAY: "1" };
  const gateway = await startWithFlags(t, { upstream: upstream.url, env });
  const tookMs: number[] = [];
  for (let i = 0; i < 200; i++) {
    const startedAt = performance.now();
    const answer = await fetch(`${gateway.url}${CHAT}`, { method: "POST", body: '{"model":"m"}' });
    await answer.arrayBuffer();
    tookMs.push(performance.now() - startedAt);
  }
  const median = tookMs.sort((a, b) => a - b)[100] ?? Number.NaN;
  assert.ok(median < 200, `median ${median} ms`);
  const metrics = await eventually("the last span", async () => {
    const series = await readMetrics(gateway);
    return sumOf(series, "gateway_telemetry_dropped_total", { signal: "traces" }) >= 300 && series;
  });
  assert.equal(sumOf(metrics, "gateway_telemetry_dropped_total", { signal: "traces" }), 300);
  const startedAt = performance.now();
  gateway.signal("SIGTERM");
  assert.deepEqual(await gateway.ended, { status: 0, signal: null });
  assert.ok(performance.now() - startedAt < 6_500);
});

/** A setting that only the SDK reads: a file that contains it contains the SDK, however it is bundled. */
const OF_THE_SDK = "OTEL_BSP_SCHEDULE_DELAY";

/** Reports at the end of the process how many files with the SDK it has loaded. */
async function probe(owner: Owner): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "gateway-probe-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  const path = join(dir, "probe.cjs");
  await writeFile(
    path,
    `const { readFileSync, writeSync } = require("fs");
    const { Session } = require("inspector");
    const session = new Session();
    session.connect();
    const urls = new Set();
    session.on("Debugger.scriptParsed", ({ params }) => urls.add(params.url));
    session.post("Debugger.enable");
    process.on("exit", () => {
      const files = [...urls].filter((url) => url.startsWith("file:") && !url.endsWith("/probe.cjs"));
      const loaded = files.filter((url) => readFileSync(new URL(url), "utf8").includes("${OF_THE_SDK}")).length;
      writeSync(2, JSON.stringify({ message: "probe", files: files.length, loaded }) + "\\n");
    });`,
  );
  return path;
}

test("no OpenTelemetry SDK is loaded unless the environment asks for an export", async (t) => {
  const collector = await startCollector(t);
  const upstream = await scriptedUpstream(t);
  const required = { NODE_OPTIONS: `--require ${await probe(t)}` };
  const environments: readonly (readonly [Record<string, string>, boolean])[] = [
    [{}, false],
    [{ OTEL_SERVICE_NAME: "x" }, false],
    [{ ...to(collector.url), OTEL_SDK_DISABLED: "true" }, false],
    [to(collector.url), true],
  ];
  for (const [env, isLoaded] of environments) {
    const gateway = await startWithFlags(t, { upstream: upstream.url, env: { ...env, ...required } });
    await exchange(t, gateway.port, post(CHAT, '{"model":"m"}'));
    gateway.signal("SIGTERM");
    await gateway.ended;
    const line = gateway.log().find(({ message }) => message === "probe");
    assert.ok(Number(line?.["files"]) > 0, "the files of the program are seen");
    assert.equal(Number(line?.["loaded"]) > 0, isLoaded, JSON.stringify(env));
  }
});
