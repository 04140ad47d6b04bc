/**
 * What providers answer beside their dialect: redirects, errors within 200, encodings that nobody asked for, loose shapes,
 * silence. Each through a governed gateway, as a client of either dialect sees it. Source: design decisions, section 20.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { WebSocket } from "ws";
import { chat, mint, say, startGoverned } from "../governance/support/governed.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { endChunks, reply, type Script, scriptedUpstream, startEvents, writeChunk } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";
import { ENCODINGS, ERRORS } from "./support/wild.ts";

const file = { after };
const oc = await scriptedUpstream(file);
const am = await scriptedUpstream(file);
const spare = await scriptedUpstream(file);
const KEY = "key-of-the-providers";
const compat = { dialect: "compat", api_key: KEY };
const { node, gateway } = await startGoverned(file, {
  env: { GATEWAY_STREAM_HEARTBEAT: "300ms" },
  deployment: {
    default_provider: "oc",
    providers: [
      { name: "oc", ...compat, base_url: `${oc.url}/v1`, models: ["oc-*"] },
      { name: "am", dialect: "messages", api_key: KEY, base_url: am.url, models: ["am-*"] },
      {
        name: "moving",
        ...compat,
        base_url: `${oc.url}/v1`,
        models: ["moving"],
        failover: { to: ["spare"], when: ["5xx", 429] },
      },
      { name: "spare", ...compat, base_url: `${spare.url}/v1`, models: ["spare"] },
      {
        name: "slow",
        ...compat,
        base_url: `${oc.url}/v1`,
        models: ["slow"],
        first_byte_timeout: "200ms",
        retry: { attempts: 1, when: ["timeout"], backoff: "10ms" },
      },
      { name: "closed", ...compat, base_url: "http://127.0.0.1:1/v1", models: ["closed"] },
    ],
    mcp: [{ name: "tools", url: `${oc.url}/mcp` }],
    a2a: [{ name: "agent", url: `${oc.url}/a2a` }],
    profiles: [{ name: "metered", budget: "much" }],
    budgets: [{ name: "much", limit: 1_000_000_000 }],
  },
});
const key = await mint(node, "one", { profile: "metered" });

const MESSAGES = "/v1/messages";
const ask = (model: string, facts: object = {}, path?: string) =>
  say(gateway, { key, body: chat({ model, ...facts }), ...(path !== undefined && { path }) });
const asMessages = (facts: object = {}) => ask("oc-1", facts, MESSAGES);

async function spent(work: () => Promise<unknown>): Promise<number> {
  const total = async (): Promise<number> =>
    sumOf(await readMetrics(gateway), "gateway_budget_units_total", { budget: "much" });
  const before = await total();
  await work();
  return (await total()) - before;
}

const json = (value: unknown, ...headers: readonly string[]): Script => {
  return (socket) =>
    reply(socket, { headers: ["Content-Type: application/json", ...headers], body: JSON.stringify(value) });
};
const stream =
  (...events: readonly string[]): Script =>
  (socket) => {
    startEvents(socket);
    for (const event of events) writeChunk(socket, event);
    endChunks(socket);
  };
const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const completion = (message: object, more: object = {}) => ({
  id: "c",
  object: "chat.completion",
  model: "oc-1",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  ...more,
});
const GOOD = completion({ content: "fine" });

for (const status of [301, 302, 303, 307, 308]) {
  test(`a redirect ${status} is refused on every route and kind of upstream`, async () => {
    const away: Script = (socket) =>
      reply(socket, { status, headers: [`LOCATION: http://evil.test/v1`], body: "away" });
    oc.script = away;
    am.script = away;
    const rpc = { jsonrpc: "2.0", id: 1, params: {} };
    const asks = [
      () => ask("oc-1"),
      () => ask("oc-1", { stream: true }),
      () => asMessages(),
      () => ask("am-1", { max_tokens: 9 }, MESSAGES),
      () => say(gateway, { key, method: "GET", path: "/v1/files" }),
      () => say(gateway, { key, method: "GET", path: "/v1/files/f/content" }),
      () => say(gateway, { key, method: "DELETE", path: "/v1/files/f" }),
      () =>
        say(gateway, {
          key,
          path: "/a2a/agent",
          headers: { "a2a-version": "1.0" },
          body: { ...rpc, method: "GetTask", params: { id: "t" } },
        }),
    ];
    for (const [at, each] of asks.entries()) {
      const said = await each();
      assert.equal(said.status, 502, `${at}: ${said.text}`);
      assert.equal(said.headers.get("location"), null);
      assert.match(said.text, /upstream_redirect/);
      assert.doesNotMatch(said.text, /evil/);
    }
    const { items } = await node.client.call("list_backend_errors", { params: { name: "oc" } });
    assert.equal(items[0]?.kind, "redirect");
    assert.match(String(items[0]?.reason), new RegExp(String(status)));
  });
}

test("a handshake of a WebSocket that is redirected is refused", async () => {
  oc.script = (socket) => socket.end("HTTP/1.1 307 Away\r\nlocation: ws://evil.test/\r\ncontent-length: 0\r\n\r\n");
  const websocket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/realtime?model=oc-1`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const [, response] = (await once(websocket, "unexpected-response")) as [
    unknown,
    { statusCode: number; headers: object },
  ];
  assert.equal(response.statusCode, 502);
  assert.ok(!("location" in response.headers));
  websocket.on("error", () => undefined).terminate();
});

for (const [what, error, status, words] of ERRORS) {
  test(`an error within 200, as ${what}, is that error, whole and as the first event`, async () => {
    for (const script of [json(error), stream(": waiting\n\n", data(error))]) {
      for (const facts of [{}, { stream: true }]) {
        oc.script = script;
        const units = await spent(async () => {
          const same = await ask("oc-1", facts);
          assert.equal(same.status, status);
          assert.equal(same.headers.get("content-type"), "application/json");
          assert.equal(same.text, JSON.stringify(error));
          const translated = await asMessages(facts);
          assert.equal(translated.status, status, translated.text);
          const told = JSON.parse(translated.text) as { type: string; error: { message: string } };
          assert.equal(told.type, "error");
          assert.ok(told.error.message.includes(words), told.error.message);
        });
        assert.equal(units, 0);
        spare.script = json(GOOD);
        const moved = await ask("moving", facts);
        const moves = status === 429 || status >= 500;
        assert.equal(moved.headers.get("x-gateway-provider"), moves ? "spare" : "moving");
      }
    }
  });
}

test("an error within 200 is that error on the routes of either dialect, and content that is no error passes", async () => {
  const error = { error: { message: "slow down", type: "rate_limit_error" } };
  const paths = ["/v1/embeddings", "/v1/completions", "/v1/responses", "/v1/images/generations"];
  for (const script of [json(error), json(error, "Content-Encoding: identity")]) {
    oc.script = script;
    for (const path of paths) {
      const said = await say(gateway, { key, path, body: { model: "oc-1", input: "a", prompt: "a" } });
      assert.deepEqual([said.status, said.text], [429, JSON.stringify(error)], path);
    }
    const listed = await say(gateway, { key, method: "GET", path: "/v1/models" });
    assert.equal(listed.status, 429);
  }
  am.script = json({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
  for (const path of [MESSAGES, "/v1/messages/count_tokens"]) {
    assert.equal((await ask("am-1", { max_tokens: 9 }, path)).status, 529, path);
  }
  // What a file or a stored object holds is not the provider's word; nor is an answer that tells its own failure.
  oc.script = json(error);
  assert.equal((await say(gateway, { key, method: "GET", path: "/v1/files/f/content" })).status, 200);
  oc.script = json({ id: "r", object: "response", status: "failed", error: { code: "server_error", message: "m" } });
  assert.equal((await say(gateway, { key, path: "/v1/responses", body: { model: "oc-1", input: "a" } })).status, 200);
  for (const message of [{ content: '{"error":{"message":"m","code":500}}' }, { content: "error", error: null }]) {
    oc.script = json(completion(message));
    assert.equal((await ask("oc-1")).status, 200);
  }
});

test("what an error told of usage is charged, and an error within a stream costs what was seen of it", async () => {
  oc.script = json({
    error: { message: "m", code: 500 },
    usage: { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 },
  });
  assert.equal(await spent(() => ask("oc-1")), 7);
  const piece = data({ choices: [{ index: 0, delta: { content: "a" } }] });
  oc.script = stream(piece, data({ error: { message: "m", code: 500 } }));
  assert.equal(await spent(() => ask("oc-1", { stream: true })), 0);
  assert.equal(await spent(() => asMessages({ stream: true })), 0);
});

for (const [what, name, encode] of ENCODINGS) {
  test(`an answer in ${what}, which was not asked for, is read and metered`, async () => {
    const encoded = (plain: string, status = 200, type = "application/json"): Script => {
      const body = encode(Buffer.from(plain));
      return (socket) =>
        reply(socket, { status, headers: [`Content-Type: ${type}`, `Content-Encoding: ${name}`], body });
    };
    const long = JSON.stringify(completion({ content: "fine ".repeat(20_000) }));
    for (const plain of [JSON.stringify(GOOD), long]) {
      oc.script = encoded(plain);
      assert.equal(await spent(() => ask("oc-1").then(({ text }) => assert.equal(text, plain))), 15);
      const translated = await asMessages();
      assert.equal(translated.status, 200, translated.text);
      assert.match(translated.text, /"text":"fine/);
    }
    const events =
      data({ choices: [{ index: 0, delta: { role: "assistant", content: "fine" } }] }) +
      data({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: GOOD.usage }) +
      "data: [DONE]\n\n";
    oc.script = encoded(events, 200, "text/event-stream");
    assert.equal(await spent(() => ask("oc-1", { stream: true }).then(({ text }) => assert.equal(text, events))), 15);
    assert.match((await asMessages({ stream: true })).text, /"text":"fine".*message_stop/s);
    oc.script = encoded('{"error":{"message":"too many","type":"x"}}', 429);
    assert.match((await asMessages()).text, /too many/);
  });
}

test("an encoding that is corrupt, cut, unknown or a bomb ends with a reason, and is bounded", async () => {
  const whole = gzipSync(JSON.stringify(completion({ content: "x".repeat(5_000) })));
  const corrupt = Buffer.from(whole);
  corrupt.fill(0xff, 20, 40);
  const bodies: readonly (readonly [string, Buffer, RegExp])[] = [
    ["gzip", corrupt, /does not decode/],
    ["gzip", whole.subarray(0, whole.length - 12), /does not decode/],
    [
      "br",
      Buffer.from([0x1b, 0x03, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
      /does not decode/,
    ],
    ["gzip", gzipSync(Buffer.alloc(60 << 20, " ")), /unpacks to more than 100 times/],
    ["snappy", Buffer.from("sNaPpY"), /could not be read/],
  ];
  for (const [encoding, body, reason] of bodies) {
    oc.script = (socket) =>
      reply(socket, { headers: ["Content-Type: application/json", `Content-Encoding: ${encoding}`], body });
    const said = await asMessages();
    assert.equal(said.status, 502);
    assert.match(said.text, /upstream_invalid/);
    assert.match(said.text, reason);
  }
  await eventually("the reason is listed", async () => {
    const { items } = await node.client.call("list_backend_errors", { params: { name: "oc" } });
    return items.some(({ kind, reason }) => kind === "invalid" && /unpacks to more/.test(String(reason)));
  });
  await eventually("the log tells it", () =>
    gateway
      .log()
      .some(({ message, kind }) => message === "the answer of an upstream could not be used" && kind === "invalid"),
  );
});

test("answers without meaning are told with their reason", async () => {
  for (const [body, reason] of [
    ["<html><body>Welcome</body></html>", /web page/],
    ["", /empty/],
    ['{"choices":[]}', /no message/],
    ["nonsense", /not JSON/],
  ] as const) {
    oc.script = (socket) => reply(socket, { headers: ["Content-Type: text/html"], body });
    const said = await asMessages();
    assert.equal(said.status, 502);
    assert.match(said.text, /upstream_invalid/);
    assert.match(said.text, /Provider oc's answer could not be read/);
    assert.match(said.text, reason);
  }
});

type Block = { readonly type: string; readonly text?: string; readonly thinking?: string; readonly input?: unknown };
const contentOf = async (script: Script, facts: object = {}): Promise<readonly Block[]> => {
  oc.script = script;
  const said = await asMessages(facts);
  assert.equal(said.status, 200, said.text);
  return (JSON.parse(said.text) as { content: readonly Block[] }).content;
};
const called = (written: unknown) => ({
  content: null,
  tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: written } }],
});

test("arguments in other forms reach a messages client as an object", async () => {
  for (const [written, input] of [
    [
      { a: 1, b: { c: [true] } },
      { a: 1, b: { c: [true] } },
    ],
    ['{"a":"x\ny"}', { _raw: '{"a":"x\ny"}' }],
    ["ls -la", { _raw: "ls -la" }],
    ["[1]", { _raw: "[1]" }],
    ["", {}],
  ] as const) {
    const content = await contentOf(json(completion(called(written))));
    assert.deepEqual(content[0]?.input, input);
  }
  oc.script = (socket) =>
    reply(socket, {
      headers: ["Content-Type: application/json"],
      body: JSON.stringify(completion(called("@"))).replace('"@"', '{"n":12345678901234567890}'),
    });
  assert.match((await asMessages()).text, /"input":\{"n":12345678901234567890\}/);
});

test("several choices are one message, and a stream that nobody asked for is the whole answer", async () => {
  const [thought, text] = [{ reasoning_content: "hm" }, { content: "fine" }];
  const thinking = { thinking: { type: "enabled", budget_tokens: 1_024 }, max_tokens: 4_096 };
  const parts = {
    ...GOOD,
    choices: [thought, text].map((message, index) => ({ index, message, finish_reason: "stop" })),
  };
  const types = (content: readonly Block[]) => content.map(({ type }) => type);
  assert.deepEqual(types(await contentOf(json(parts), thinking)), ["thinking", "text"]);
  const chunk = (index: number, delta: object, finish_reason: string | null = null) => ({
    choices: [{ index, delta, finish_reason }],
  });
  const events = [
    data(chunk(0, thought)),
    data(chunk(1, { content: "fi" })),
    data(chunk(1, { content: "ne" }, "stop")),
    data({ choices: [], x_groq: { usage: GOOD.usage } }),
    "data: [DONE]\n\n",
  ];
  assert.deepEqual(types(await contentOf(stream(...events), thinking)), ["thinking", "text"]);
  for (const type of ["application/json", "text/plain", "application/octet-stream"]) {
    const script: Script = (socket) => reply(socket, { headers: [`Content-Type: ${type}`], body: events.join("") });
    const content = await contentOf(script, thinking);
    assert.equal(content[1]?.text, "fine");
  }
  for (const end of ["\n", "\r", "\r\n", "\n\n"]) {
    oc.script = stream("\u{feff}", ...events.map((event) => event.trimEnd() + end));
    const streamed = await asMessages({ ...thinking, stream: true });
    assert.match(streamed.text, /thinking_delta.*"text":"fi".*"text":"ne".*message_stop/s, JSON.stringify(end));
    assert.match(streamed.text, /"output_tokens":5/);
  }
});

test("a tool whose schema has alternatives at its top is sent without them", async () => {
  am.script = json({
    ...{ id: "m", type: "message", role: "assistant", model: "am-1", stop_reason: "tool_use" },
    content: [{ type: "tool_use", id: "t", name: "f", input: '{"path":"x"}' }],
    usage: { input_tokens: 1, output_tokens: 1 },
  });
  const variant = (name: string) => ({ type: "object", properties: { [name]: { type: "string" } }, required: [name] });
  for (const union of ["anyOf", "oneOf", "allOf"]) {
    const parameters = { [union]: [variant("path"), { $ref: "#/$defs/other" }], $defs: { other: variant("url") } };
    const said = await ask("am-1", { tools: [{ type: "function", function: { name: "f", parameters } }] });
    assert.equal(said.status, 200, said.text);
    assert.match(said.text, /"arguments":"\{\\"path\\":\\"x\\"\}"/);
    const sent = JSON.parse(String(am.requests.at(-1)?.body)) as { tools: { input_schema: Record<string, unknown> }[] };
    const schema = sent.tools[0]?.input_schema ?? {};
    assert.equal(schema["type"], "object");
    assert.ok(!(union in schema));
    assert.deepEqual(Object.keys(schema["properties"] as object), ["path", "url"]);
    assert.deepEqual(schema["required"] ?? [], union === "allOf" ? ["path", "url"] : []);
  }
});

test("a silent stream is kept alive where the gateway writes it, and nowhere else", async () => {
  const silent: Script = (socket) => {
    startEvents(socket);
    setTimeout(() => {
      writeChunk(socket, data({ choices: [{ index: 0, delta: { content: "fine" }, finish_reason: "stop" }] }));
      writeChunk(socket, "data: [DONE]\n\n");
      endChunks(socket);
    }, 1_500);
  };
  oc.script = silent;
  const translated = await asMessages({ stream: true });
  assert.match(translated.text, /^(?:: keep-alive\n\n){2,}event: message_start/);
  const passed = await ask("oc-1", { stream: true });
  assert.doesNotMatch(passed.text, /keep-alive/);
});

test("a timeout is charged its input, and an upstream that was not reached nothing", async () => {
  oc.script = () => undefined;
  const units = await spent(() => ask("slow").then(({ status }) => assert.equal(status, 504)));
  assert.ok(units > 0 && units < 200, `${units} units`);
  assert.equal(await spent(() => ask("closed")), 0);
});

test("connections that the server ends while they are idle fail no call", async () => {
  oc.script = (socket) => {
    reply(socket, { headers: ["Content-Type: application/json"], body: JSON.stringify(GOOD) });
    setTimeout(() => socket.end(), 60);
  };
  const statuses = new Set<number>();
  for (let round = 0; round < 8; round += 1) {
    const said = await Promise.all(Array.from({ length: 5 }, () => ask("oc-1")));
    for (const { status, headers } of said) {
      statuses.add(status);
      assert.equal(headers.get("x-gateway-attempts"), "1");
    }
    await new Promise((done) => setTimeout(done, 57 + (round % 6)));
  }
  assert.deepEqual([...statuses], [200]);
});
