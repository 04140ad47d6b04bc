// tier: test
/**
 * Calls of MCP servers through a running gateway: what the server receives, what the caller gets, and which callers may
 * call what. Source: specification document 3 (`mcp[]`); mcp reference; design decisions, sections 2, 7 and 11.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { recordsIn } from "../admin/support/trail.ts";
import { mint, startGoverned } from "../governance/support/governed.ts";
import { ONE_PROCESS } from "../support/gateway.ts";
import { idle, readMetrics, sumOf } from "../support/metrics.ts";
import { reply, type Script, scriptedUpstream } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";

const file = { after };
const CARD = "4111 1111 1111 1111";
const SERVER_KEY = "the-servers-own-key";
const VERSION = "2026-07-28";

const upstream = await scriptedUpstream(file);
const { node, gateway } = await startGoverned(file, {
  env: ONE_PROCESS,
  deployment: {
    mcp: [
      {
        name: "tools",
        url: `${upstream.url}/rpc?v=1`,
        api_key: SERVER_KEY,
        cost_per_call: 5,
        registry: { name: "com.example/tools", description: "Tools." },
      },
      { name: "keyless", url: `${upstream.url}/mcp` },
      { name: "gone", url: "http://127.0.0.1:9/rpc" },
    ],
    budgets: [{ name: "few", limit: 12, shared: true }],
    profiles: [
      { name: "few", budget: "few" },
      { name: "open", guardrails: { detectors: [] } },
    ],
    access_rules: [
      {
        name: "no-rm",
        at: ["mcp"],
        condition: 'server == "tools" && name == "rm"',
        action: "deny",
        message: "rm is off",
      },
      {
        name: "eu",
        at: ["mcp"],
        condition: 'name == "find" && has(args.region) && args.region != "eu"',
        action: "deny",
      },
    ],
    guardrails: {
      detectors: [
        {
          type: "pii",
          name: "finder",
          prefilter: "pure",
          entities: ["CREDIT_CARD", "US_SSN"],
          apply_to: ["tool_args", "tool_result"],
        },
      ],
      rules: [
        { name: "no-ssn", when: '"pii/US_SSN" in labels && hop == "mcp"', action: "deny" },
        { name: "cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"' },
      ],
    },
  },
});
const key = await mint(node, "plain");
const frugal = await mint(node, "frugal", { profile: "few" });

const META = { "io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {} };

interface Call {
  readonly path?: string;
  readonly key?: string | undefined;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly id?: number | string;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: {
    readonly id?: unknown;
    readonly result?: Record<string, unknown>;
    readonly error?: { readonly code: number; readonly message: string; readonly data?: { readonly code?: string } };
  };
}

async function call(options: Call = {}): Promise<Answer> {
  const {
    path = "/mcp/tools",
    method = "tools/call",
    params = { name: "echo", arguments: {} },
    headers = {},
    id = 1,
  } = options;
  const credential = "key" in options ? options.key : key;
  const { name } = params;
  const response = await fetch(gateway.url + path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
      ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
      ...headers,
    },
    body: options.body ?? JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: META } }),
  });
  const text = await response.text();
  const last =
    text
      .split("\n")
      .findLast((line) => line.startsWith("data: "))
      ?.slice("data: ".length) ?? text;
  return { status: response.status, headers: response.headers, text, body: JSON.parse(last || "{}") as Answer["body"] };
}

const answering =
  (result: Readonly<Record<string, unknown>>, head = ""): Script =>
  (socket, { body }) => {
    const { id } = JSON.parse(body.toString()) as { readonly id: unknown };
    const text = JSON.stringify({ jsonrpc: "2.0", id, result });
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
  };
const resultWith = (text: string): Script => answering({ resultType: "complete", content: [{ type: "text", text }] });

test("a call is forwarded unchanged except for the server's credential, and its answer is returned unchanged", async () => {
  upstream.script = resultWith("hello");
  const before = upstream.requests.length;
  const answer = await call({
    headers: { cookie: "a=b", "x-api-key": "k", origin: gateway.url, "mcp-session-id": "s", "mcp-param-x": "eu" },
    id: "one",
  });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(
    [answer.body.id, answer.body.result],
    ["one", { resultType: "complete", content: [{ type: "text", text: "hello" }] }],
  );
  const [sent] = upstream.requests.slice(before);
  assert.ok(sent !== undefined && upstream.requests.length === before + 1);
  assert.equal(sent.target, "/rpc?v=1");
  const headers = new Map(sent.headers.map(([name, value]) => [name.toLowerCase(), value]));
  assert.equal(headers.get("authorization"), `Bearer ${SERVER_KEY}`);
  assert.equal(headers.get("mcp-param-x"), "eu");
  for (const name of ["cookie", "x-api-key", "origin", "mcp-session-id"])
    assert.equal(headers.get(name), undefined, name);
  assert.ok(!JSON.stringify(sent.headers).includes(key));
});

test("both names of a registered server reach it; no other name does", async () => {
  upstream.script = resultWith("hello");
  for (const path of ["/mcp/com.example/tools", "/mcp/com.example%2Ftools", "/mcp/tools/"]) {
    assert.equal((await call({ path })).status, 200, path);
  }
  const unknown = await call({ path: "/mcp/nobody" });
  assert.deepEqual([unknown.status, unknown.body.error?.data?.code], [404, "not_found"]);
  for (const path of ["/mcp/tools/mcp", "/mcp/tools/sse", "/mcp/com.example/tools/messages/x"]) {
    const below = await call({ path });
    assert.equal(below.status, 404, path);
    assert.match(below.body.error?.message ?? "", /is served at `\/mcp\/NAME` alone, over Streamable HTTP/, path);
  }
});

test("a rule on a tool and a rule on a tool argument refuse a call with an error for its request id", async () => {
  const before = upstream.requests.length;
  const off = await call({ params: { name: "rm", arguments: {} }, id: 7 });
  assert.deepEqual(
    [off.status, off.body.id, off.body.error?.code, off.body.error?.message],
    [403, 7, -31403, "rm is off"],
  );
  const denied = await call({ params: { name: "find", arguments: { region: "us" } } });
  assert.equal(denied.body.error?.data?.code, "policy_denied");
  assert.equal(upstream.requests.length, before);
  upstream.script = resultWith("found");
  assert.equal((await call({ params: { name: "find", arguments: { region: "eu" } } })).status, 200);
  const record = await eventually("the record of the denial", () =>
    recordsIn(node.output()).find(({ event, data }) => event === "access.decision" && data["rule"] === "no-rm"),
  );
  assert.deepEqual(
    [record.data["hop"], record.data["to"], record.data["route"], record.data["name"]],
    ["mcp", "tools", "tools/call", "rm"],
  );
});

test("batches, duplicate members, similar names and conflicting headers do not bypass a rule", async () => {
  const before = upstream.requests.length;
  const plain = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "rm", arguments: {}, _meta: META },
  });
  const bodies = [
    `[${plain}]`,
    plain.replace('"name":"rm"', '"name":"echo","name":"rm"'),
    plain.replace('"name":"rm"', '"name":"echo","Name":"rm"'),
    plain.replace('"method":', '"Method":"tools/list","method":'),
    plain.replace('"id":1,', ""),
    plain,
  ];
  for (const body of bodies) {
    const answer = await call({ body, params: { name: "echo" } });
    assert.ok(answer.status >= 400, body);
  }
  assert.equal(upstream.requests.length, before);
});

test("a list shows only callable tools; a shared list is cached, served with its remaining lifetime, and dropped on notification", async () => {
  const tools = ["echo", "rm", "find"].map((name) => ({ name, inputSchema: { type: "object" } }));
  upstream.script = answering({ resultType: "complete", tools, ttlMs: 60_000, cacheScope: "public" });
  const before = upstream.requests.length;
  const listed = async (options: Call = {}) => (await call({ method: "tools/list", params: {}, ...options })).body;
  const first = await listed({ id: "a" });
  assert.deepEqual(
    (first.result?.["tools"] as typeof tools | undefined)?.map(({ name }) => name),
    ["echo", "find"],
  );
  assert.equal(first.result?.["cacheScope"], "private");
  const second = await listed({ id: "b" });
  assert.equal(second.id, "b");
  assert.ok(Number(second.result?.["ttlMs"]) <= 60_000);
  assert.equal(upstream.requests.length, before + 1);
  await listed({ params: { cursor: "2" } });
  assert.equal(upstream.requests.length, before + 2);
  upstream.script = (socket, { body }) => {
    const { id } = JSON.parse(body.toString()) as { readonly id: unknown };
    const changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}';
    socket.end(
      `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: alive\n\nevent: message\ndata: ${changed}\n\n` +
        `data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete" } })}\n\n`,
    );
  };
  const streamed = await call({
    method: "subscriptions/listen",
    params: { notifications: { toolsListChanged: true } },
  });
  assert.match(streamed.text, /^: alive\n\nevent: message\ndata: /);
  upstream.script = answering({ resultType: "complete", tools, ttlMs: 0, cacheScope: "public" });
  await listed();
  assert.equal(upstream.requests.length, before + 4);
});

test("arguments, results and streamed results are inspected; a mirrored header is rewritten with its argument", async () => {
  upstream.script = resultWith(`card ${CARD}`);
  const before = upstream.requests.length;
  const params = { name: "echo", arguments: { pay: `with ${CARD}`, n: 1 } };
  const answer = await call({ params, headers: { "mcp-param-pay": `with ${CARD}` } });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.body.result?.["content"], [{ type: "text", text: "card <CREDIT_CARD>" }]);
  const sent = upstream.requests[before];
  assert.match(String(sent?.body), /"pay":"with <CREDIT_CARD>","n":1/);
  assert.ok(
    sent?.headers.some(([name, value]) => name.toLowerCase() === "mcp-param-pay" && value === "with <CREDIT_CARD>"),
  );
  upstream.script = resultWith("number 536-90-4399");
  const denied = await call();
  assert.deepEqual([denied.status, denied.body.error?.data?.code], [403, "guardrail_denied"], denied.text);
  upstream.script = (socket, { body }) => {
    const { id } = JSON.parse(body.toString()) as { readonly id: unknown };
    const progress = JSON.stringify({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: 1, progress: 1, message: `seen ${CARD}` },
    });
    const result = JSON.stringify({
      jsonrpc: "2.0",
      id,
      result: { resultType: "complete", content: [{ type: "text", text: "536-90-4399" }] },
    });
    socket.end(
      `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: ${progress}\n\ndata: ${result}\n\n`,
    );
  };
  const streamed = await call({ id: 9 });
  assert.equal(streamed.status, 200);
  assert.match(streamed.text, /seen <CREDIT_CARD>/);
  assert.deepEqual([streamed.body.id, streamed.body.error?.data?.code], [9, "guardrail_denied"]);
  assert.ok(!node.output().includes(CARD) && !node.output().includes("536-90-4399"));
});

test("a budget is charged per call, and an unreachable server costs nothing", async () => {
  upstream.script = resultWith("hello");
  const statuses: number[] = [];
  for (let at = 0; at < 3; at++) statuses.push((await call({ key: frugal })).status);
  assert.deepEqual(statuses, [200, 200, 429]);
  const unreached = await call({ path: "/mcp/gone", key: frugal });
  assert.deepEqual([unreached.status, unreached.body.error?.data?.code], [502, "upstream_unreachable"], unreached.text);
  assert.match(unreached.body.error?.message ?? "", /MCP server gone/);
});

test("servers and clients of old revisions are refused, and a rejected server credential is reported as the operator's problem", async () => {
  upstream.script = answering({ content: [] });
  const old = await call();
  assert.deepEqual([old.status, old.body.error?.data?.code], [502, "unsupported_version"], old.text);
  const session = "mcp-session-id: s\r\n";
  upstream.script = answering({ content: [] }, session);
  assert.equal((await call()).body.error?.data?.code, "unsupported_version");
  // Answer of a server that supports both versions.
  upstream.script = answering({ content: [], resultType: "complete" }, session);
  const both = await call();
  assert.deepEqual([both.status, both.headers.get("mcp-session-id")], [200, null], both.text);
  upstream.script = (socket) => reply(socket, { status: 401, headers: ["www-authenticate: Bearer"], body: "{}" });
  const unaccepted = await call();
  assert.equal(unaccepted.status, 502);
  assert.equal(unaccepted.headers.get("www-authenticate"), null);
  const keyless = await call({ path: "/mcp/keyless" });
  assert.deepEqual([keyless.status, keyless.body.error?.data?.code], [502, "upstream_invalid"], keyless.text);
  assert.match(keyless.text, /MCP server keyless requires a credential, and none is configured for it/);
  const sessions = [
    ["2025-11-25", /Unsupported protocol version: 2025-11-25; .* after `server\/discover` failed/],
    // rmcp 3.11 does so by default.
    ["2026-07-28", /^Revision 2026-07-28 has no `initialize`: .* `server\/discover`/],
  ] as const;
  for (const [version, message] of sessions) {
    const initialize = await call({
      body: `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"${version}"}}`,
      headers: { "mcp-protocol-version": version },
    });
    assert.deepEqual([initialize.status, initialize.body.error?.code], [400, -32022]);
    assert.match(initialize.body.error?.message ?? "", message);
  }
  const got = await fetch(`${gateway.url}/mcp/tools`, { headers: { authorization: `Bearer ${key}` } });
  assert.deepEqual([got.status, got.headers.get("allow")], [405, "POST"]);
});

test("without a credential nothing is disclosed, and a page of another origin is refused", async () => {
  const before = upstream.requests.length;
  assert.equal((await call({ key: undefined })).status, 401);
  assert.equal((await call({ headers: { origin: "https://evil.example" } })).status, 403);
  assert.equal(upstream.requests.length, before);
});

test("a suspended server is refused with the reason", async () => {
  await node.client.call("put_suspension", { params: { kind: "mcp", name: "tools" }, body: { reason: "it leaks" } });
  const answer = await eventually("the suspension", async () => {
    const one = await call();
    return one.status === 503 && one;
  });
  assert.match(answer.body.error?.message ?? "", /MCP server tools is suspended: it leaks/);
  const series = await readMetrics(gateway);
  assert.ok(sumOf(series, "gateway_requests_total", { route: "mcp", provider: "mcp:tools" }) > 10);
  await idle(gateway);
});
