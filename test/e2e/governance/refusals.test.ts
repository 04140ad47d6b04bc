/**
 * Refusals as an operator sees them: a spent budget, a denying rule, hundreds of wrong credentials, through `GET
 * /refusals`, SQL, budget rows and audit records. Source: design decisions, sections 3 and 4.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { mintKey } from "../../../src/server/auth/index.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { eventually } from "../support/wait.ts";
import { chat, mint, say, startGoverned } from "./support/governed.ts";

const { node, gateway } = await startGoverned(
  { after },
  {
    deployment: {
      access_rules: [{ name: "no-two", at: ["llm"], condition: 'model == "sim-\\u001btwo"', action: "deny" }],
      budgets: [{ name: "tiny", limit: 1, window: "24h", shared: true, cost: { type: "CEL", cel: "1" } }],
      profiles: [
        { name: "poor", budget: "tiny" },
        { name: "narrow", allowed_models: ["sim-9"] },
        {
          name: "staff",
          access_rules: [{ name: "no-two", at: ["llm"], condition: 'model == "sim-3"', action: "deny" }],
        },
      ],
    },
  },
);
const poor = await mint(node, "poor", { profile: "poor" });
const narrow = await mint(node, "narrow", { profile: "narrow" });
const free = await mint(node, "free");
const staff = await mint(node, "staff", { profile: "staff" });
const { client } = node;

const rows = async () => (await client.call("list_refusals")).items;
/** The list changes at most once a second, so a refusal may appear a moment later. */
const rowOf = (code: string, count = 1) =>
  eventually(`${count} refusals with ${code}`, async () =>
    (await rows()).find((row) => row.code === code && row.last_hour === count),
  );

test("a spent budget names the callers that it refuses, and is recorded once a minute", async () => {
  assert.equal((await say(gateway, { key: poor })).status, 200);
  const first = await client.call("list_budgets");
  assert.deepEqual(
    first.items.map(({ status, refused_per_minute: refused, node: of }) => [status, refused, of]),
    [["exhausted", 0, "n1"]],
  );
  let last = "";
  for (let n = 0; n < 25; n += 1) {
    const { status, headers } = await say(gateway, { key: poor });
    assert.equal(status, 429);
    last = headers.get("x-gateway-request-id") ?? "";
  }
  const row = await rowOf("budget_exhausted", 25);
  const { first_at: firstAt, last_at: lastAt, ...rest } = row;
  assert.deepEqual(rest, {
    node: "n1",
    caller_kind: "key",
    caller: "poor",
    code: "budget_exhausted",
    cause: "budget",
    cause_name: "tiny",
    last_minute: 25,
    last_hour: 25,
    last_request: last,
  });
  assert.ok(Date.parse(firstAt) <= Date.parse(lastAt));
  // A blocking read is used, since the budget's own accounts have not changed.
  const changed = await client.call("list_budgets", { query: { index: first.index, wait: "10s" } });
  assert.deepEqual(
    changed.items.map(({ status, refused_per_minute: refused }) => [status, refused]),
    [["refusing", 25]],
  );
  const records = await eventually("the record of the budget", async () => {
    const { items } = await client.call("list_audit_records", { query: { event: "access.decision" } });
    return items.length > 0 ? items : undefined;
  });
  const [record, ...others] = records.map(({ data }) => data as Record<string, unknown>);
  assert.deepEqual(others, []);
  const { request, key_id: id, ...facts } = record ?? {};
  assert.deepEqual(facts, {
    budget: "tiny",
    caller: "key",
    code: "budget_exhausted",
    decision: "deny",
    key: "poor",
    refused: 1,
    user_name: null,
  });
  assert.equal(typeof request, "string");
  assert.equal(id, poor.split("_")[1]);
});

test("a denying rule is named, and its record names the requested model", async () => {
  const model = "sim-\u001btwo";
  assert.equal((await say(gateway, { key: free, body: chat({ model }) })).code, "policy_denied");
  const row = await rowOf("policy_denied");
  assert.deepEqual([row.caller, row.cause, row.cause_name], ["free", "rule", "no-two"]);
  const record = await eventually("the record of the rule", async () => {
    const { items } = await client.call("list_audit_records", { query: { event: "access.decision" } });
    return items.map(({ data }) => data as Record<string, unknown>).find((data) => data["rule"] === "no-two");
  });
  assert.equal(record["model"], "sim-\\u001btwo");
});

test("a rule of a profile is distinguished from a deployment rule of the same name", async () => {
  assert.equal((await say(gateway, { key: staff, body: chat({ model: "sim-3" }) })).code, "policy_denied");
  const row = await eventually("the refusal", async () => (await rows()).find(({ caller }) => caller === "staff"));
  assert.deepEqual([row.code, row.cause, row.cause_name], ["policy_denied", "rule", "profile staff/no-two"]);
});

test("a model missing from a profile's list is reported as the profile's refusal", async () => {
  assert.equal((await say(gateway, { key: narrow })).code, "model_not_allowed");
  const row = await rowOf("model_not_allowed");
  assert.deepEqual([row.caller, row.cause, row.cause_name], ["narrow", "profile", "narrow"]);
});

test("hundreds of wrong credentials make one row per fault; a record names the key and its origin", async () => {
  const wrong = `${free.slice(0, -10)}0000000000`;
  const headers = { "x-request-id": "r-stale" };
  const id = narrow.split("_")[1] ?? "";
  const stale = mintKey(randomBytes, id).text;
  const { headers: answered } = await say(gateway, { key: stale, headers });
  assert.equal(answered.get("x-gateway-request-id"), "r-stale");
  for (let n = 0; n < 150; n += 1) assert.equal((await say(gateway, { key: wrong })).code, "unauthenticated");
  await rowOf("unauthenticated", 150);
  const gone = await mint(node, "gone");
  await client.call("delete_key", { params: { name: "gone" } });
  for (let n = 0; n < 3; n += 1) assert.equal((await say(gateway, { key: gone })).code, "unauthenticated");
  await rowOf("unauthenticated", 3);
  const result = (await rows())
    .filter(({ code }) => code === "unauthenticated")
    .map((row) => [row.caller_kind, row.caller, row.cause, row.cause_name, row.last_minute] as const)
    // A refusal is counted after its answer, so that the next one may be counted before it.
    .toSorted(([, , , , a], [, , , , b]) => a - b);
  assert.deepEqual(result, [
    ["key", "narrow", "credential", "unknown_key", 1],
    // A revoked key has no name and is listed by its id.
    ["unrecognised", gone.split("_")[1], "credential", "unknown_key", 3],
    ["unrecognised", null, "credential", "malformed", 150],
  ]);
  const record = await eventually("the record of the failure", async () => {
    const { items } = await client.call("list_audit_records", { query: { event: "auth.failure" } });
    return items.map(({ data }) => data as Record<string, unknown>).find((data) => data["request"] === "r-stale");
  });
  assert.equal(record["key_id"], id);
  assert.equal(record["key"], "narrow");
  assert.equal(record["fault"], "unknown_key");
  assert.match(String(record["remote"]), /127\.0\.0\.1|::1/);
  const secret = stale.split("_").slice(2).join("_");
  assert.ok(!node.output().includes(secret.slice(0, 20)), "no part of the secret");
  assert.equal(sumOf(await readMetrics(gateway), "gateway_auth_failures_total", { plane: "data" }), 154);
});

test("the same rows are available as an SQL table", async () => {
  const { rows: counted } = await client.call("run_query", {
    body: {
      sql: "SELECT node, code, SUM(last_hour) AS n FROM refusals WHERE cause = 'credential' GROUP BY node, code",
    },
  });
  assert.deepEqual(counted, [["n1", "unauthenticated", 154]]);
});
