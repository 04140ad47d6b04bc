// tier: test
/**
 * Access rules on real requests: their decisions, the caller's message, and the explaining record. Source:
 * specification document 3 (`access_rules[]`); document 1 (Errors); design decisions, section 4.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { recordsIn, type SeenRecord, verify } from "../admin/support/trail.ts";
import { simulated } from "../support/simulated.ts";
import { eventually } from "../support/wait.ts";
import { chat, mint, say, simProvider, startGoverned } from "./support/governed.ts";

const file = { after };
const second = await simulated(file, { requireKey: "the-provider-key" });
const { simulator, node, gateway } = await startGoverned(file, {
  deployment: (simulator) => ({
    providers: [
      { ...simProvider("eu", simulator), metadata: { region: "eu" }, failover: { to: ["us", "spare"] } },
      { ...simProvider("us", second), metadata: { region: "us" } },
      { ...simProvider("spare", second) },
    ],
    default_provider: "eu",
    access_rules: [
      {
        name: "research-may",
        at: ["llm"],
        condition: 'model in ["sim-2", "sim-3"] && key.metadata.team == "research"',
        action: "allow",
        on_error: "fail_open",
        controls: ["AC-3", "AC-6"],
      },
      { name: "no-us", at: ["llm"], condition: 'provider == "us"', action: "deny", message: "Data stays in the EU." },
      { name: "fragile", at: ["llm"], condition: 'model == "sim-3" && key.metadata.cleared == "yes"', action: "deny" },
    ],
    budgets: [{ name: "day", limit: 1_000_000, shared: true }],
    profiles: [
      {
        name: "team",
        budget: "day",
        access_rules: [
          {
            name: "no-embeddings",
            at: ["llm"],
            condition: 'route == "embeddings"',
            action: "deny",
            controls: ["SC-7"],
          },
        ],
      },
    ],
  }),
});
const research = await mint(node, "research", { profile: "team", metadata: { team: "research", cleared: "no" } });
const plain = await mint(node, "plain", { profile: "team" });

/** Returns the one record of the request, by the id in its answer. */
const recordOf = (requestId: string | null): Promise<SeenRecord> =>
  eventually("the record", () =>
    recordsIn(node.output()).find(({ event, data }) => event === "access.decision" && data["request"] === requestId),
  );

test("a denial of a profile names its rule, and its record explains it", async () => {
  const answer = await say(gateway, { key: plain, path: "/v1/embeddings", body: { model: "sim-1", input: "text" } });
  assert.deepEqual([answer.status, answer.code], [403, "policy_denied"]);
  assert.match(answer.text, /denied by rule no-embeddings/);
  assert.equal(answer.headers.get("x-should-retry"), "false");
  const { controls, data } = await recordOf(answer.headers.get("x-gateway-request-id"));
  assert.deepEqual(controls, ["SC-7"]);
  const { rule, layer, profile, decision, caller, key, budget, route, to, matched } = data;
  assert.deepEqual(
    { rule, layer, profile, decision, caller, key, budget, route, to, matched },
    {
      rule: "no-embeddings",
      layer: "profile",
      profile: "team",
      decision: "deny",
      caller: "key",
      key: "plain",
      budget: "day",
      route: "embeddings",
      to: "eu",
      matched: ["profile team: deny by no-embeddings"],
    },
  );
});

test("an allow is recorded with its controls and ends the deployment's list only", async () => {
  const answer = await say(gateway, {
    key: research,
    body: chat({ model: "sim-2" }),
    headers: { "x-request-id": "asked-1" },
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("x-gateway-request-id"), "asked-1");
  const { controls, data } = await recordOf("asked-1");
  assert.deepEqual(
    [controls, data["rule"], data["layer"], data["decision"]],
    [["AC-3", "AC-6"], "research-may", "deployment", "allow"],
  );
});

test("a request that matches no rule leaves no record", async () => {
  const answer = await say(gateway, { key: research, headers: { "x-request-id": "quiet-1" } });
  assert.equal(answer.status, 200);
  await say(gateway, { key: research, body: chat({ model: "sim-2" }), headers: { "x-request-id": "loud-1" } });
  await recordOf("loud-1");
  assert.ok(!node.output().includes("quiet-1"));
});

test("a failing condition refuses if it fails closed, and is skipped and reported if it fails open", async () => {
  const answer = await say(gateway, {
    key: plain,
    body: chat({ model: "sim-3" }),
    headers: { "x-request-id": "broken-1" },
  });
  assert.deepEqual([answer.status, answer.code], [403, "policy_error"]);
  assert.match(answer.text, /rule fragile could not be evaluated/);
  const { data } = await recordOf("broken-1");
  assert.deepEqual(
    [data["decision"], data["rule"], data["error"], data["skipped"]],
    ["error", "fragile", "missing_key", ["research-may"]],
  );
  await eventually("the log line", () => node.program.log().some(({ rule }) => rule === "research-may"));
});

test("each failover candidate is admitted separately: a candidate that a rule denies is skipped", async () => {
  const before = second.counts().requests;
  const answer = await say(gateway, {
    key: research,
    body: chat({ model: "sim-500" }),
    headers: { "x-request-id": "moved-1" },
  });
  assert.equal(answer.headers.get("x-gateway-provider"), "spare");
  assert.equal(second.counts().requests, before + 1);
  const { data } = await recordOf("moved-1");
  assert.deepEqual([data["rule"], data["to"], data["decision"]], ["no-us", "us", "deny"]);
});

test("the refusal has the rule's message, and without another candidate the provider's own answer is returned", async () => {
  await node.client.call("put_suspension", {
    params: { kind: "provider", name: "spare" },
    body: { reason: "maintenance" },
  });
  const answer = await say(gateway, { key: research, body: chat({ model: "sim-500" }) });
  assert.equal(answer.headers.get("x-gateway-provider"), "eu");
  assert.equal(answer.status, 500);
  await node.client.call("delete_suspension", { params: { kind: "provider", name: "spare" } });
  void simulator;
});

test("the trail with all these records verifies", async (context) => {
  await node.stop();
  const { status, text } = await verify(context, node.dir, node.output());
  assert.equal(status, 0, text);
});
