/**
 * Measurements of every node, read through any of them, while all answer, while one hangs and while one is down.
 * Source: design decisions, section 3 (`?nodes=all`).
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { bufferIo } from "../../cli/buffer-io.ts";
import { startWatch } from "../../console/watch/support/watching.ts";
import { chat, mint, say, simProvider, startGoverned } from "../governance/support/governed.ts";
import { reply, scriptedUpstream } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";

const file = { after };
const PROMPT = "the-secret-of-the-prompt";
const failing = await scriptedUpstream(file, (socket) => {
  const body = JSON.stringify({ error: { type: "overloaded_error", code: "model_overloaded", message: PROMPT } });
  reply(socket, { status: 503, headers: ["content-type: application/json"], body });
});
const { nodes } = await startGoverned(file, {
  ids: ["n1", "n2", "n3"],
  deployment: (simulator) => ({
    providers: [
      simProvider("sim", simulator),
      { name: "bad", dialect: "compat", base_url: `${failing.url}/v1`, api_key: "k", models: ["bad-1"] },
    ],
    default_provider: "sim",
    access_rules: [{ name: "no-two", at: ["llm"], condition: 'model == "sim-2"', action: "deny" }],
  }),
});
const [first, second, third] = nodes;
assert.ok(first && second && third);
const { client } = first.node;
const key = await mint(second.node, "ci");
for (const { gateway } of nodes) {
  await eventually("a node that knows the key", async () => (await say(gateway, { key })).status === 200 || undefined);
}

/** Milliseconds. Longer than the gateway's maximum of one second, since this machine is busy. */
const PATIENCE_MS = 2_500;

async function timed<T>(work: () => Promise<T>): Promise<T> {
  const begunAt = performance.now();
  const value = await work();
  const took = performance.now() - begunAt;
  assert.ok(took < PATIENCE_MS, `it took ${took} ms`);
  return value;
}

const everywhere = { query: { nodes: "all" } } as const;

test("a refusal on another node appears in the list of every node and in SQL over all nodes", async () => {
  assert.equal((await say(second.gateway, { key, body: chat({ model: "sim-2" }) })).code, "policy_denied");
  const row = await eventually("the refusal on n2", async () => {
    const { items, unanswered, cut } = await client.call("list_refusals", everywhere);
    assert.deepEqual([unanswered, cut], [[], []]);
    return items.find(({ cause_name: name }) => name === "no-two");
  });
  assert.deepEqual([row.node, row.caller, row.last_hour], ["n2", "ci", 1]);
  const own = await client.call("list_refusals");
  assert.ok(!own.items.some(({ cause_name: name }) => name === "no-two"));
  assert.equal(own.unanswered, undefined);
  const sql = "SELECT node, COUNT(*) FROM backends GROUP BY node ORDER BY node";
  const all = await client.call("run_query", { ...everywhere, body: { sql } });
  assert.deepEqual(all.rows, [
    ["n1", 2],
    ["n2", 2],
    ["n3", 2],
  ]);
  assert.deepEqual(all.unanswered, []);
  assert.deepEqual((await client.call("run_query", { body: { sql } })).rows, [["n1", 2]]);
});

test("provider failures are listed for all nodes, each with its caller and message", async () => {
  const asked = await say(third.gateway, { key, body: chat({ model: "bad-1" }), headers: { "x-request-id": "r-bad" } });
  assert.equal(asked.status, 503);
  const failure = await eventually("the failure on n3", async () => {
    const { items } = await client.call("list_backend_errors", { params: { name: "bad" }, ...everywhere });
    return items[0];
  });
  const { time: _, duration_ms: took, ...facts } = failure;
  assert.deepEqual(facts, {
    status: 503,
    kind: "5xx",
    request: "r-bad",
    caller: "ci",
    model: "bad-1",
    error_type: "overloaded_error",
    error_code: "model_overloaded",
    attempt: 1,
    node: "n3",
    moved_to: null,
  });
  assert.ok(took >= 0 && took < 10_000);
  assert.deepEqual((await client.call("list_backend_errors", { params: { name: "bad" } })).items, []);
  assert.ok(!JSON.stringify(failure).includes(PROMPT));
});

test("a change made through one node can be found through any other", async () => {
  await second.node.client.call("put_suspension", {
    params: { kind: "model", name: "sim-7" },
    body: { reason: "the change of this morning" },
  });
  const query = { nodes: "all", event: "admin.write", limit: 50 } as const;
  const record = await eventually("the change", async () => {
    const { items } = await client.call("list_audit_records", { query });
    assert.ok(items.every(({ event }) => event === "admin.write"));
    return items.find(({ data }) => JSON.stringify(data).includes("sim-7"));
  });
  assert.equal(record.node, "n2");
});

test("each node reports its own view of the members", async () => {
  const { items } = await client.call("list_cluster_members", everywhere);
  const pairs = items.map(({ node, id }) => `${node} ${id}`).sort();
  assert.deepEqual(
    pairs,
    ["n1", "n2", "n3"].flatMap((node) => ["n1", "n2", "n3"].map((id) => `${node} ${id}`)),
  );
  const own = await client.call("list_cluster_members");
  assert.deepEqual([...new Set(own.items.map(({ node }) => node))], ["n1"]);
  const sql = "SELECT node FROM cluster_members WHERE role = 'leader' GROUP BY node ORDER BY node";
  assert.deepEqual((await client.call("run_query", { ...everywhere, body: { sql } })).rows, [["n1"], ["n2"], ["n3"]]);
});

test("a list that is the same on every node takes no `nodes`, and peers are not asked for what the caller may not read", async () => {
  const { status } = await client.raw("GET", "keys?nodes=all");
  assert.equal(status, 400);
});

/** Lists that the console reads from every node. */
const WATCHED = [
  { id: "list_refusals" },
  { id: "list_backends" },
  { id: "list_mcp_servers" },
  { id: "list_a2a_agents" },
  { id: "list_requests" },
  { id: "list_backend_errors", name: "bad" },
  { id: "list_audit_records" },
  { id: "list_audit_records", name: "admin.write" },
] as const;

test("a node that hangs is named within a second while the others answer, and the console shows it too", async (t) => {
  const path = join(first.node.dir, "admin.sock");
  const nodeClient = { endpoint: { kind: "socket", path }, name: "n1", flags: "" } as const;
  const watch = startWatch(t, [nodeClient], { intervals: { pollMs: 500 } });
  watch.need(WATCHED);
  await watch.sees("answers of all", ({ get }) => WATCHED.every((need) => get(need)?.value && !get(need)?.gaps));
  third.node.program.signal("SIGSTOP");
  try {
    const { items, unanswered } = await timed(() => client.call("list_backends", everywhere));
    assert.deepEqual(unanswered, ["n3"]);
    assert.deepEqual([...new Set(items.map(({ node }) => node))], ["n1", "n2"]);
    const asked = await timed(() =>
      client.call("run_query", { ...everywhere, body: { sql: "SELECT node FROM refusals" } }),
    );
    assert.deepEqual(asked.unanswered, ["n3"]);
    await watch.sees("who hangs", ({ get }) => WATCHED.every((need) => get(need)?.gaps?.unanswered.join() === "n3"));
    // A follower notices a silence only when its connection ends, so both take it from the leader.
    for (const { node } of [first, second]) {
      const shown = await eventually("a silent member in the table", async () => {
        const io = bufferIo({ env: { GATEWAY_ADMIN_SOCKET: join(node.dir, "admin.sock") }, now: () => Date.now() });
        await execute(["status"], io);
        return /^n3 +\S+ +silent/m.test(io.out()) ? io.out() : undefined;
      });
      assert.match(shown, /^! MEMBER +member:n3 +silent \d+.*; 2 of 3 voters reachable/m);
    }
  } finally {
    third.node.program.signal("SIGCONT");
  }
  await eventually("n3 answers again", async () => {
    const { unanswered } = await client.call("list_backends", everywhere);
    return unanswered?.length === 0 || undefined;
  });
  await watch.sees("who answers", ({ get }) => WATCHED.every((need) => get(need)?.gaps === undefined));
});

test("a node that is down is named too", async () => {
  third.node.program.signal("SIGKILL");
  await third.node.program.ended;
  const { unanswered } = await timed(() => client.call("list_budgets", everywhere));
  assert.deepEqual(unanswered, ["n3"]);
});
