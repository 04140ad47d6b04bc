/**
 * The last requests of a node, for an operator: a row per upstream call, early refusals, clients that disconnect; found
 * by SQL; bounded; without any request text. Source: design decisions, section 17.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { WebSocket } from "ws";
import { KEPT_REQUESTS, type RequestRecord } from "../../../src/admin-api/index.ts";
import { runProgram } from "../support/gateway.ts";
import { post, rawClient } from "../support/raw.ts";
import { type Recorded, reply, scriptedUpstream } from "../support/upstream.ts";
import { atEnd, eventually, within } from "../support/wait.ts";
import { chat, mint, say, simProvider, startGoverned } from "./support/governed.ts";

const PROMPT = "the-words-of-the-prompt";
const file = { after };
const failing = await scriptedUpstream(file, (socket) => reply(socket, { status: 503, body: PROMPT }));
const silent = await scriptedUpstream(file, () => undefined);
const answering =
  (result: object) =>
  (socket: Parameters<typeof reply>[0], { body }: Recorded) => {
    const { id } = JSON.parse(body.toString()) as { readonly id: unknown };
    const headers = ["content-type: application/json"];
    reply(socket, { headers, body: JSON.stringify({ jsonrpc: "2.0", id, result }) });
  };
const tools = await scriptedUpstream(file, answering({ resultType: "complete", content: [] }));
const agent = await scriptedUpstream(file, answering({ message: { messageId: "m-2", role: "ROLE_AGENT", parts: [] } }));

const { node, gateway } = await startGoverned(file, {
  deployment: (simulator) => ({
    providers: [
      { ...simProvider("sim", simulator), model_aliases: { "talk/fast": "sim-realtime" } },
      { name: "bad", dialect: "compat", base_url: `${failing.url}/v1`, api_key: "k", models: ["bad-1"] },
      { name: "slow", dialect: "compat", base_url: `${silent.url}/v1`, api_key: "k", models: ["slow-1"] },
    ],
    default_provider: "sim",
    mcp: [{ name: "tools", url: `${tools.url}/rpc` }],
    a2a: [{ name: "helper", url: `${agent.url}/rpc` }],
    access_rules: [
      { name: "no-two", at: ["llm"], condition: 'model.startsWith("sim-\\u001btwo")', action: "deny" },
      { name: "three", at: ["llm"], condition: 'model == "sim-3"', action: "allow" },
    ],
    budgets: [
      { name: "tiny", limit: 1, window: "24h", shared: true, cost: { type: "CEL", cel: "1" } },
      { name: "wide", limit: 1_000_000, window: "24h", shared: true },
    ],
    profiles: [
      { name: "poor", budget: "tiny" },
      { name: "staff", budget: "wide" },
      { name: "narrow", allowed_models: ["sim-9"] },
    ],
  }),
});
const { client } = node;
const keys = {
  staff: await mint(node, "ci", { profile: "staff" }),
  poor: await mint(node, "poor", { profile: "poor" }),
  narrow: await mint(node, "narrow", { profile: "narrow" }),
};
const CHAT = { messages: [{ role: "user", content: PROMPT }] };

/** A row appears once its request has ended, which may be a moment after its answer. */
const rowOf = (id: string): Promise<RequestRecord> =>
  eventually(`the row of ${id}`, async () => (await client.call("list_requests", { query: { id } })).items[0]);

let requestCount = 0;
async function ask(key: string | undefined, facts: object, path?: string): Promise<RequestRecord> {
  requestCount += 1;
  const id = `ask-${requestCount}`;
  const headers = { "x-request-id": id };
  await say(gateway, { key, headers, body: { ...chat(CHAT), ...facts }, ...(path !== undefined && { path }) });
  return await rowOf(id);
}

test("an answered request has a row with caller, model, upstream, duration and usage", async () => {
  const {
    time,
    ttfb_ms: firstByte,
    total_ms: total,
    input_tokens: input,
    output_tokens: output,
    ...row
  } = await ask(keys.staff, { model: "sim-3" });
  assert.deepEqual(row, {
    id: "ask-1",
    caller: "ci",
    profile: "staff",
    hop: "llm",
    route: "chat_completions",
    model: "sim-3",
    provider: "sim",
    status: 200,
    code: null,
    attempts: 1,
    decided_by: "rule three",
    node: "n1",
  });
  assert.ok(Math.abs(Date.now() - Date.parse(time)) < 60_000);
  assert.ok(firstByte !== null && firstByte <= total);
  assert.ok(input !== null && input > 0 && output !== null && output > 0);
});

test("a refusal names what refused it, also without a recognized caller and before any upstream", async () => {
  const facts = (row: RequestRecord) => [
    row.caller,
    row.profile,
    row.hop,
    row.provider,
    row.status,
    row.code,
    row.decided_by,
  ];
  assert.deepEqual(facts(await ask(undefined, {})), [
    null,
    null,
    "llm",
    null,
    401,
    "unauthenticated",
    "credential no_credential",
  ]);
  assert.deepEqual(facts(await ask(keys.staff, {}, "/nowhere")), [null, null, null, null, 404, "not_found", null]);
  await ask(keys.poor, {});
  const poor = await ask(keys.poor, {});
  assert.deepEqual(facts(poor), ["poor", "poor", "llm", "sim", 429, "budget_exhausted", "budget tiny"]);
  assert.deepEqual([poor.ttfb_ms, poor.attempts, poor.input_tokens], [null, 0, null]);
  assert.deepEqual(facts(await ask(keys.narrow, {})).slice(-2), ["model_not_allowed", "profile narrow"]);
});

test("a name with terminal escapes or of excessive length is shown escaped and cut", async () => {
  const row = await ask(keys.staff, { model: `sim-\u001btwo\u202e${"x".repeat(600)}` });
  assert.deepEqual([row.code, row.decided_by], ["policy_denied", "rule no-two"]);
  assert.match(row.model ?? "", /^sim-\\u001btwo\\u202ex{60,140}/);
  assert.doesNotMatch(JSON.stringify(row.model), /[\u0000-\u001f\u202e]/);
  assert.ok((row.model ?? "").length < 160);
});

test("calls of MCP servers and agents, and sessions, have rows of their own", async (t) => {
  const rpc = async (path: string, method: string, params: object, headers: Readonly<Record<string, string>>) => {
    const response = await fetch(gateway.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${keys.staff}`, ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return await response.text();
  };
  const revision = "2026-07-28";
  const meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  await rpc(
    "/mcp/tools",
    "tools/call",
    { name: "find", arguments: { text: PROMPT }, _meta: meta },
    {
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": revision,
      "mcp-method": "tools/call",
      "mcp-name": "find",
      "x-request-id": "a-tool",
    },
  );
  const message = { messageId: "m-1", role: "ROLE_USER", parts: [{ text: PROMPT }] };
  await rpc("/a2a/helper", "SendMessage", { message }, { "a2a-version": "1.0", "x-request-id": "an-agent" });
  const facts = (row: RequestRecord) => [
    row.caller,
    row.hop,
    row.route,
    row.model,
    row.provider,
    row.status,
    row.attempts,
  ];
  assert.deepEqual(facts(await rowOf("a-tool")), ["ci", "mcp", "tools/call", null, "tools", 200, 1]);
  assert.deepEqual(facts(await rowOf("an-agent")), ["ci", "a2a", "SendMessage", null, "helper", 200, 1]);

  const headers = { authorization: `Bearer ${keys.staff}`, "x-request-id": "a-session" };
  const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/realtime?model=talk%2Ffast`, { headers });
  atEnd(t, () => socket.terminate());
  const messages: string[] = [];
  socket.on("message", (data) => messages.push(String(data)));
  await eventually("the greeting", () => messages.length > 0);
  socket.send(JSON.stringify({ type: "response.create" }));
  await eventually("the answer", () => messages.some((message) => message.includes("response.done")));
  assert.deepEqual((await client.call("list_requests", { query: { id: "a-session" } })).items, []);
  socket.close();
  const session = await rowOf("a-session");
  assert.deepEqual(facts(session), ["ci", "websocket", "realtime", "talk/fast", "sim", 101, 1]);
  assert.ok((session.output_tokens ?? 0) > 0 && session.ttfb_ms !== null);
});

test("a client that disconnects leaves a row with 499, and a provider's failure can be found by SQL", async (t) => {
  const leaver = await rawClient(t, gateway.port);
  const headers = ["content-type: application/json", `authorization: Bearer ${keys.staff}`, "x-request-id: a-leaver"];
  leaver.send(post("/v1/chat/completions", JSON.stringify(chat({ model: "slow-1" })), headers));
  await eventually("the request at the provider", () => silent.requests.length > 0);
  leaver.socket.destroy();
  const left = await rowOf("a-leaver");
  assert.deepEqual([left.status, left.code, left.provider, left.ttfb_ms, left.attempts], [499, null, "slow", null, 1]);

  const failed = await ask(keys.staff, { model: "bad-1" });
  const sql = "select id, provider, status from requests where status >= 500";
  const query = runProgram(t, { args: ["query", "-socket", join(node.dir, "admin.sock"), "-o", "json", sql] });
  await within("the query", query.ended);
  assert.deepEqual(JSON.parse(query.stdout()), [{ id: failed.id, provider: "bad", status: 503 }]);
});

test("a blocking read wakes on the next request, and rows can be filtered by their columns", async () => {
  const { index } = await client.call("list_requests");
  const waiting = client.call("list_requests", { query: { index, wait: "20s", provider: "bad" } });
  await ask(keys.staff, { model: "bad-1" });
  const woken = await within("the read", waiting);
  assert.ok(woken.index > index);
  assert.ok(woken.items.length >= 2 && woken.items.every(({ provider }) => provider === "bad"));
  const { items } = await client.call("list_requests", { query: { hop: "mcp", status: 200, nodes: "all" } });
  assert.deepEqual(
    items.map(({ id, node: of }) => [id, of]),
    [["a-tool", "n1"]],
  );
});

test("the last 2,000 requests are kept, newest first, without text or credentials", async () => {
  const before = (await client.call("list_requests")).items;
  const text = JSON.stringify(before);
  for (const secret of [PROMPT, ...Object.values(keys), "the-provider-key"]) assert.ok(!text.includes(secret));
  for (let done = 0; done < KEPT_REQUESTS; done += 50) {
    await Promise.all(Array.from({ length: 50 }, async () => await (await fetch(`${gateway.url}/nowhere`)).text()));
  }
  const items = await eventually("only the newest", async () => {
    const all = (await client.call("list_requests")).items;
    return all.every(({ code }) => code === "not_found") ? all : undefined;
  });
  assert.equal(items.length, KEPT_REQUESTS);
  const times = items.map(({ time, total_ms: total }) => Date.parse(time) + total);
  assert.ok(times.every((at, place) => place === 0 || at <= (times[place - 1] ?? 0) + 1_000));
});

test("outcomes appear in the history of their provider, model and budget in ten-second steps", async () => {
  const asked = { kind: "backends", name: "bad" } as const;
  let { items, index } = await client.call("list_history", { query: asked });
  // The current bucket is reported once it is complete.
  const next = await client.call("list_history", { query: { ...asked, index, wait: "20s" } });
  assert.ok(next.index > index);
  ({ items, index } = next);
  const sum = (of: (row: (typeof items)[number]) => number | null) =>
    items.reduce((all, row) => all + (of(row) ?? 0), 0);
  assert.deepEqual([sum(({ attempts }) => attempts), sum(({ failures }) => failures)], [2, 2]);
  assert.deepEqual((await client.call("list_backend_history", { params: { name: "bad" } })).items, items);
  const { items: all } = await client.call("list_history");
  const budgets = all.filter(({ kind, name }) => kind === "budgets" && name === "tiny");
  assert.ok(budgets.reduce((refused, row) => refused + (row.refused ?? 0), 0) >= 1);
  assert.ok(all.some(({ kind, name, output_tokens: tokens }) => kind === "models" && name !== "" && (tokens ?? 0) > 0));
  const cluster = all.filter(({ kind }) => kind === "cluster");
  assert.ok(cluster.every(({ name, applied_index: applied }) => name === "n1" && (applied ?? 0) > 0));
  assert.ok(cluster.some(({ commit_ms: ms }) => ms !== null && ms > 0));
});
