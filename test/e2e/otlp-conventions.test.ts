/**
 * Spans and series as dashboards for OpenTelemetry's generative AI and MCP conventions expect them: every name is a
 * published one, values come from the configuration and closed lists, and no caller text is among them.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { type SeenSpan, startCollector } from "../server/telemetry/otlp/collector.ts";
import { mint, startGoverned } from "./governance/support/governed.ts";
import { readMetrics, sumOf } from "./support/metrics.ts";
import { endChunks, reply, scriptedUpstream, startEvents, writeChunk } from "./support/upstream.ts";
import { eventually } from "./support/wait.ts";

interface Published {
  readonly attributes: readonly string[];
  readonly metrics: readonly string[];
  readonly histograms: Readonly<Record<string, { readonly unit: string; readonly bounds: readonly number[] }>>;
}

const LIST = new URL("../data/conventions/opentelemetry-1.45.0.json", import.meta.url);
const published = JSON.parse(await readFile(LIST, "utf8")) as Published;

const CANARY = "canary4711";
const OURS = /^(?:gen_ai|mcp|jsonrpc|rpc)\./;
const file = { after };
const collector = await startCollector(file);
const upstream = await scriptedUpstream(file);
const broken = await scriptedUpstream(file, (socket) => reply(socket, { status: 503, body: "{}" }));
const JSON_TYPE = ["Content-Type: application/json"];
const { node, gateway } = await startGoverned(file, {
  env: {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "20",
    OTEL_METRIC_EXPORT_INTERVAL: "200",
  },
  deployment: {
    providers: [
      { name: "good", dialect: "compat", base_url: upstream.url, api_key: "k", models: ["known", "family-*"] },
      {
        name: "bad",
        dialect: "compat",
        base_url: broken.url,
        api_key: "k",
        models: ["moved"],
        failover: { to: ["good"], when: ["5xx"] },
      },
    ],
    mcp: [{ name: "tools", url: `${upstream.url}/mcp` }],
    a2a: [{ name: "helper", url: `${upstream.url}/a2a` }],
  },
});
const key = await mint(node, "plain");

async function ask(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const all = { "content-type": "application/json", authorization: `Bearer ${key}`, ...headers };
  const response = await fetch(gateway.url + path, { method: "POST", headers: all, body: JSON.stringify(body) });
  await response.arrayBuffer();
  return response.status;
}

/** Returns the spans that a request adds: its own, and those of its attempts. */
async function spansOf(play: () => Promise<number>, count: number, status: number): Promise<readonly SeenSpan[]> {
  const before = collector.spans().length;
  assert.equal(await play(), status);
  const spans = await eventually("spans", () => collector.spans().length >= before + count && collector.spans());
  const added = spans.slice(before);
  return [...added.filter(({ kind }) => kind === 2), ...added.filter(({ kind }) => kind === 3)];
}

const ownAttributes = ({ attributes }: SeenSpan): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => OURS.test(name)));

const chat = (model: string, more: object = {}) => ({
  model,
  messages: [{ role: "user", content: CANARY }],
  user: CANARY,
  ...more,
});
const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10, prompt_tokens_details: { cached_tokens: 4 } };
const CHAT = "/v1/chat/completions";

test("for a whole answer, request and attempt have operation, provider, model, usage and finish reason", async () => {
  upstream.script = (socket) => {
    const choices = [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: `${CANARY} "x"` } }];
    reply(socket, { headers: JSON_TYPE, body: JSON.stringify({ model: "known", choices, usage: USAGE }) });
  };
  const spans = await spansOf(() => ask(CHAT, chat("known")), 2, 200);
  const expected = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "good",
    "gen_ai.request.model": "known",
    "gen_ai.usage.input_tokens": 7,
    "gen_ai.usage.output_tokens": 3,
    "gen_ai.usage.cache_read.input_tokens": 4,
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.response.model": "known",
  };
  assert.deepEqual(spans.map(ownAttributes), [expected, expected]);
  assert.deepEqual(
    spans.map(({ name, kind }) => [name, kind]),
    [
      ["chat known", 2],
      ["chat known", 3],
    ],
  );
  assert.deepEqual(
    [spans[1]?.attributes["server.address"], spans[1]?.attributes["server.port"]],
    ["127.0.0.1", upstream.port],
  );
});

test("a stream cut at any place has them too, and an unlisted reason or model is not exported", async () => {
  const events = [
    { model: `family-${CANARY}`, choices: [{ index: 0, delta: { content: CANARY } }] },
    { model: `family-${CANARY}`, choices: [{ index: 0, delta: {}, finish_reason: "length" }] },
    { model: `family-${CANARY}`, choices: [{ index: 1, delta: {}, finish_reason: "odd" }] },
    { choices: [], usage: USAGE },
  ];
  const text = `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
  upstream.script = (socket) => {
    startEvents(socket);
    for (let at = 0; at < text.length; at += 5) writeChunk(socket, text.slice(at, at + 5));
    endChunks(socket);
  };
  const spans = await spansOf(() => ask(CHAT, chat(`family-${CANARY}`, { stream: true })), 2, 200);
  const expected = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "good",
    "gen_ai.request.model": "family-*",
    "gen_ai.request.stream": true,
    "gen_ai.usage.input_tokens": 7,
    "gen_ai.usage.output_tokens": 3,
    "gen_ai.usage.cache_read.input_tokens": 4,
    "gen_ai.response.finish_reasons": ["length", "other"],
  };
  assert.deepEqual(spans.map(ownAttributes), [expected, expected]);
});

test("a failed-over request and a refused one name the upstream and the reason", async () => {
  upstream.script = (socket) => reply(socket, { headers: JSON_TYPE, body: JSON.stringify({ usage: USAGE }) });
  const [request, ...attempts] = await spansOf(() => ask(CHAT, chat("moved")), 3, 200);
  assert.deepEqual([request, ...attempts].map((span) => span?.attributes["gen_ai.provider.name"]).sort(), [
    "bad",
    "good",
    "good",
  ]);
  assert.deepEqual(attempts.map(({ attributes }) => attributes["error.type"]).sort(), ["503", undefined]);
  const [refused] = await spansOf(() => ask(CHAT, chat(`un${CANARY}`)), 1, 404);
  assert.deepEqual(refused && [refused.name, refused.attributes["gateway.code"]], ["chat", "model_not_found"]);
});

const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: CANARY, method, params });

test("calls of MCP servers and agents have attributes of their own", async () => {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = (method: string) => ({
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    "mcp-name": CANARY,
  });
  upstream.script = (socket) => {
    const result = { resultType: "complete", content: [{ type: "text", text: CANARY }] };
    reply(socket, { headers: JSON_TYPE, body: JSON.stringify({ jsonrpc: "2.0", id: CANARY, result }) });
  };
  const params = { name: CANARY, arguments: { a: CANARY }, _meta: meta };
  const tool = await spansOf(() => ask("/mcp/tools", rpc("tools/call", params), headers("tools/call")), 2, 200);
  const expected = {
    "mcp.method.name": "tools/call",
    "mcp.protocol.version": "2026-07-28",
    "gen_ai.operation.name": "execute_tool",
  };
  assert.deepEqual(tool.map(ownAttributes), [expected, expected]);
  assert.deepEqual(
    tool.map(({ name }) => name),
    ["tools/call", "tools/call"],
  );
  const message = { messageId: CANARY, role: "ROLE_USER", parts: [{ text: CANARY }] };
  const agent = await spansOf(
    () => ask("/a2a/helper", rpc("SendMessage", { message }), { "a2a-version": "1.0" }),
    2,
    200,
  );
  assert.deepEqual(
    agent.map(({ name }) => name),
    ["invoke_agent helper", "invoke_agent helper"],
  );
});

test("a failed call within a whole answer says how, and a tool has its name once the server has listed it", async () => {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const call = async (name: string, answer: object, method = "tools/call"): Promise<readonly SeenSpan[]> => {
    upstream.script = (socket) => {
      reply(socket, { headers: JSON_TYPE, body: JSON.stringify({ jsonrpc: "2.0", id: CANARY, ...answer }) });
    };
    const headers = {
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(method === "tools/call" && { "mcp-name": name }),
    };
    const params = { ...(method === "tools/call" && { name, arguments: {} }), _meta: meta };
    return await spansOf(() => ask("/mcp/tools", rpc(method, params), headers), 2, 200);
  };
  const done = { result: { resultType: "complete", content: [] } };
  const listed = { resultType: "complete", tools: [{ name: "weather", inputSchema: { type: "object" } }] };
  const names = (spans: readonly SeenSpan[]) =>
    spans.map(({ name, attributes }) => [name, attributes["gen_ai.tool.name"]]);
  assert.deepEqual(names(await call("weather", done)), Array(2).fill(["tools/call", undefined]));
  await call("", { result: listed }, "tools/list");
  assert.deepEqual(names(await call("weather", done)), Array(2).fill(["tools/call weather", "weather"]));

  const failure = (spans: readonly SeenSpan[]) =>
    spans.map(({ attributes }) => [attributes["error.type"], attributes["rpc.response.status_code"]]);
  const error = (code: unknown) => ({ error: { code, message: CANARY } });
  assert.deepEqual(failure(await call("weather", error(-32_602))), Array(2).fill(["-32602", "-32602"]));
  assert.deepEqual(failure(await call("weather", error(4_711))), Array(2).fill(["_OTHER", undefined]));
  const isError = { result: { ...done.result, isError: true } };
  assert.deepEqual(failure(await call("weather", isError)), Array(2).fill(["tool_error", undefined]));
  const scrape = await readMetrics(gateway);
  for (const type of ["-32602", "_OTHER", "tool_error"]) {
    const labels = { mcp_method_name: "tools/call", error_type: type };
    assert.equal(sumOf(scrape, "mcp_server_operation_duration_seconds_count", labels), 1, type);
    assert.equal(sumOf(scrape, "mcp_client_operation_duration_seconds_count", labels), 1, type);
  }
});

test("every name is a published one with its unit and bounds, and the scrape has each in its own spelling", async () => {
  for (const { attributes } of collector.spans()) {
    for (const name of Object.keys(attributes)) {
      if (OURS.test(name)) assert.ok(published.attributes.includes(name), name);
    }
  }
  const before = collector.posted.length;
  await eventually(
    "an export",
    () => collector.posted.slice(before).filter((it) => it.path === "/v1/metrics").length > 1,
  );
  const metrics = collector.metrics().filter(({ name }) => OURS.test(name));
  assert.deepEqual(metrics.map(({ name }) => name).sort(), Object.keys(published.histograms).sort());
  for (const { name, unit, kind, points } of metrics) {
    assert.ok(published.metrics.includes(name), name);
    assert.ok(points.length > 0, name);
    for (const { bounds, attributes } of points) {
      assert.deepEqual({ kind, unit, bounds }, { kind: "histogram", ...published.histograms[name] });
      for (const label of Object.keys(attributes)) {
        assert.ok(label === "error.type" || published.attributes.includes(label), label);
      }
    }
  }
  const scrape = await readMetrics(gateway);
  const labels = { gen_ai_operation_name: "chat", gen_ai_provider_name: "good" };
  assert.equal(sumOf(scrape, "gen_ai_client_token_usage_sum", { ...labels, gen_ai_token_type: "input" }), 21);
  assert.equal(sumOf(scrape, "gen_ai_client_token_usage_count", { ...labels, gen_ai_token_type: "output" }), 3);
  assert.equal(sumOf(scrape, "gen_ai_server_request_duration_seconds_count", labels), 3);
  assert.equal(sumOf(scrape, "gen_ai_server_time_to_first_token_seconds_count", labels), 1);
  assert.equal(sumOf(scrape, "gen_ai_server_time_per_output_token_seconds_count", labels), 1);
  const failed = { gen_ai_provider_name: "bad", error_type: "503" };
  assert.equal(sumOf(scrape, "gen_ai_client_operation_duration_seconds_count", failed), 1);
  assert.equal(sumOf(scrape, "mcp_server_operation_duration_seconds_count", { mcp_method_name: "tools/call" }), 6);
  for (const { path, body } of collector.posted) assert.ok(!body.includes(CANARY), `${path}: ${body.toString()}`);
});
