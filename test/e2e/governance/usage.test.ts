/**
 * The usage ledger as the finance team reads it: calls of every traffic type through three nodes, one of which is
 * killed; the same rows on every node, in SQL and as CSV; no request text. Source: design decisions, section 14.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { WebSocket } from "ws";
import type { UsageRecord } from "../../../src/admin-api/index.ts";
import { runProgram } from "../support/gateway.ts";
import { type Recorded, reply, scriptedUpstream } from "../support/upstream.ts";
import { eventually, within } from "../support/wait.ts";
import { chat, mint, say, simProvider, startGoverned } from "./support/governed.ts";

const PROMPT = "the-words-of-the-prompt";
const file = { after };
const answering =
  (result: object) =>
  (socket: Parameters<typeof reply>[0], { body }: Recorded) => {
    const { id } = JSON.parse(body.toString()) as { readonly id: unknown };
    const headers = ["content-type: application/json"];
    reply(socket, { headers, body: JSON.stringify({ jsonrpc: "2.0", id, result }) });
  };
const tools = await scriptedUpstream(file, answering({ resultType: "complete", content: [] }));
const agent = await scriptedUpstream(file, answering({ message: { messageId: "m-2", role: "ROLE_AGENT", parts: [] } }));

const { nodes } = await startGoverned(file, {
  ids: ["n1", "n2", "n3"],
  env: { GATEWAY_USAGE_REPORT: "200ms" },
  deployment: (simulator) => ({
    providers: [simProvider("sim", simulator)],
    mcp: [{ name: "tools", url: `${tools.url}/rpc` }],
    a2a: [{ name: "helper", url: `${agent.url}/rpc` }],
    budgets: [{ name: "wide", limit: 1_000_000, window: "24h", shared: true }],
    profiles: [{ name: "staff", budget: "wide" }],
  }),
});
const [first, second, third] = nodes;
assert.ok(first && second && third);
const key = await mint(first.node, "ci", { profile: "staff" });
for (const { gateway } of nodes) {
  const body = chat({ model: "warm-up" });
  await eventually(
    "a node that knows the key",
    async () => (await say(gateway, { key, body })).status !== 401 || undefined,
  );
}

const rowsOn = async ({ node }: typeof first, query: object = {}): Promise<readonly UsageRecord[]> =>
  (await node.client.call("list_usage", { query })).items;
const requestsOf = (rows: readonly UsageRecord[], model: string): number =>
  rows.filter((row) => row.model === model).reduce((sum, { requests }) => sum + requests, 0);

test("a request through any node is in the ledger of every node, complete and once", async () => {
  let result = { input: 0, output: 0 };
  for (const { gateway } of nodes) {
    for (let each = 0; each < 3; each += 1) {
      const body = chat({ model: "sim-1", messages: [{ role: "user", content: PROMPT }] });
      const { text } = await say(gateway, { key, body });
      const { usage } = JSON.parse(text) as { readonly usage: { prompt_tokens: number; completion_tokens: number } };
      result = { input: result.input + usage.prompt_tokens, output: result.output + usage.completion_tokens };
    }
  }
  const rows = await eventually("nine requests on n3", async () => {
    const found = await rowsOn(third, { model: "sim-1" });
    return requestsOf(found, "sim-1") === 9 ? found : undefined;
  });
  const sum = (of: (row: UsageRecord) => number): number => rows.reduce((all, row) => all + of(row), 0);
  assert.deepEqual(
    [
      sum((row) => row.input_tokens + row.cached_input_tokens + row.cache_creation_input_tokens),
      sum((row) => row.output_tokens),
      sum((row) => row.failed),
    ],
    [result.input, result.output, 0],
  );
  assert.ok(sum((row) => row.units) > 0);
  for (const row of rows) {
    assert.deepEqual([row.hop, row.caller, row.profile, row.provider], ["llm", "ci", "staff", "sim"]);
    assert.match(row.hour, /^\d{4}-\d\d-\d\dT\d\d:00:00Z$/);
  }
  for (const one of [first, second]) {
    const same = await eventually("the same rows", async () => {
      const found = await rowsOn(one, { model: "sim-1" });
      return requestsOf(found, "sim-1") === 9 ? found : undefined;
    });
    assert.deepEqual(same, rows);
  }
});

test("calls of MCP servers and agents, sessions and failures are counted too", async () => {
  const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });
  const protocol = { "mcp-protocol-version": "2026-07-28", accept: "application/json, text/event-stream" };
  await say(first.gateway, {
    key,
    path: "/mcp/tools",
    body: rpc("tools/call", { name: "t", arguments: { q: PROMPT } }),
    headers: { ...protocol, "mcp-method": "tools/call", "mcp-name": "t" },
  });
  const message = { messageId: "m-1", role: "ROLE_USER", parts: [{ text: PROMPT }] };
  await say(first.gateway, {
    key,
    path: "/a2a/helper",
    body: rpc("SendMessage", { message }),
    headers: { "a2a-version": "1.0" },
  });
  await say(first.gateway, { key, body: chat({ model: "sim-500" }) });
  const socket = new WebSocket(`${first.gateway.url.replace("http", "ws")}/v1/realtime?model=sim-realtime`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await within("a session", new Promise((resolve) => socket.once("open", resolve)), 5_000);
  socket.close();
  const rows = await eventually("a row of each", async () => {
    const found = await rowsOn(second);
    const has = (of: Partial<UsageRecord>): boolean =>
      found.some((row) => Object.entries(of).every(([name, value]) => row[name as keyof UsageRecord] === value));
    const all = [{ hop: "mcp", provider: "tools" }, { hop: "a2a", provider: "helper" }, { failed: 1 }] as const;
    const isThere = all.every((of) => has(of)) && found.some(({ model }) => model?.startsWith("sim-realtime") === true);
    return isThere ? found : undefined;
  });
  assert.ok(!JSON.stringify(rows).includes(PROMPT));
});

test("a grouped statement is answered per caller, also as CSV, and a list by its columns", async () => {
  const sql = "select caller, sum(requests) from usage where hop = 'llm' group by caller";
  const { rows } = await first.node.client.call("run_query", { body: { sql } });
  assert.equal(rows.length, 1);
  assert.equal(rows[0]?.[0], "ci");
  const verb = runProgram(file, {
    args: ["query", "-socket", `${first.node.dir}/admin.sock`, "-o", "csv", sql],
  });
  assert.ok(verb !== undefined);
  assert.deepEqual(await rowsOn(first, { caller: "nobody" }), []);
  assert.equal((await rowsOn(first, { limit: 1 })).length, 1);
});

test("a killed node loses at most what it had not reported, and counts once after its return", async () => {
  const body = chat({ model: "sim-2" });
  for (let each = 0; each < 5; each += 1) await say(third.gateway, { key, body });
  await eventually("five on n1", async () => requestsOf(await rowsOn(first), "sim-2") === 5 || undefined);
  await say(third.gateway, { key, body });
  third.node.program.signal("SIGKILL");
  await within("its end", third.node.program.ended, 5_000);
  const again = await third.node.start({ GATEWAY_USAGE_REPORT: "200ms" });
  // Its units of the budget are from before, so it requests others.
  await eventually("an answer", async () => (await say(again, { key, body })).status === 200 || undefined);
  const found = await eventually("what came after", async () => {
    const count = requestsOf(
      (await rowsOn(first)).filter(({ failed }) => failed === 0),
      "sim-2",
    );
    return count >= 6 ? count : undefined;
  });
  assert.ok(found === 6 || found === 7, `${found}`);
});

test("usage just before a stop is reported by the stop", async () => {
  await say(second.gateway, { key, body: chat({ model: "sim-3" }) });
  await second.node.stop();
  await eventually("the last one", async () => requestsOf(await rowsOn(first), "sim-3") === 1 || undefined);
});
