/**
 * Changes rehearsed on the traffic of three nodes before they are applied: a rule that would refuse one team, a halved
 * budget, a narrowed model list, a route to another provider, a rule that reads arguments, a new detector. No request
 * text is in any record, answer, log or audit record.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { AdminError, type RehearsalResult } from "../../../src/admin-api/index.ts";
import { execute } from "../../../src/cli/main.ts";
import { bufferIo } from "../../cli/buffer-io.ts";
import type { Document } from "../support/config.ts";
import { type Recorded, reply, scriptedUpstream } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";
import { chat, mint, say, simProvider, startGoverned } from "./support/governed.ts";

const CANARY = "canary-7f3a";
const file = { after };
const tools = await scriptedUpstream(file, (socket, { body }: Recorded) => {
  const { id } = JSON.parse(body.toString()) as { readonly id: unknown };
  const result = { resultType: "complete", content: [] };
  reply(socket, { headers: ["content-type: application/json"], body: JSON.stringify({ jsonrpc: "2.0", id, result }) });
});

let inForce: Document = {};
const { nodes, node, gateway, simulator } = await startGoverned(file, {
  ids: ["n1", "n2", "n3"],
  env: { GATEWAY_WORKERS: "2" },
  deployment: (started) => {
    inForce = {
      auth: { virtual_keys: true },
      providers: [
        { ...simProvider("sim", started), models: ["sim-*"] },
        { ...simProvider("other", started), models: ["other-*"] },
      ],
      mcp: [{ name: "tools", url: `${tools.url}/rpc` }],
      access_rules: [{ name: "no-nine", at: ["llm"], condition: 'model == "sim-9"', action: "deny" }],
      budgets: [{ name: "calls", limit: 12, window: "24h", shared: true, cost: { type: "CEL", cel: "1" } }],
      profiles: [{ name: "ci" }, { name: "web", budget: "calls" }],
    };
    return inForce;
  },
});
const { client } = node;
const ci = await mint(node, "ci", { profile: "ci", metadata: { team: "build" } });
const web = await mint(node, "web", { profile: "web" });
const started = nodes.map(({ gateway: at }) => at);

const mcp = (name: string) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: { secret: CANARY }, _meta: META },
});
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

const chatWith = (content: string) => chat({ model: "sim-1", messages: [{ role: "user", content }] });

const statuses: number[] = [];
for (const at of started) {
  for (let i = 0; i < 4; i++) {
    const headers = { "x-words": CANARY };
    statuses.push(
      (await say(at, { key: ci, body: { ...chatWith(CANARY), model: i === 3 ? "sim-9" : "sim-1-preview" }, headers }))
        .status,
    );
  }
  for (let i = 0; i < 3; i++) statuses.push((await say(at, { key: web, body: chatWith(CANARY) })).status);
}
const called = await say(gateway, {
  key: ci,
  path: "/mcp/tools",
  body: mcp("delete_file"),
  headers: {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "delete_file",
    accept: "application/json, text/event-stream",
  },
});

const rehearse = async (change: Document, more: Document = {}): Promise<RehearsalResult> =>
  await client.call("rehearse", { body: { document: JSON.stringify({ ...inForce, ...change }), ...more } });

const outcomes = ({ same, refused, served, other_provider, other_guardrail, unknown }: RehearsalResult) => ({
  same,
  refused,
  served,
  other_provider,
  other_guardrail,
  unknown,
});
const NONE = { same: 0, refused: 0, served: 0, other_provider: 0, other_guardrail: 0, unknown: 0 };

test("rehearsing the active configuration reproduces each request's outcome", async () => {
  assert.deepEqual(
    statuses,
    started.flatMap(() => [200, 200, 200, 403, 200, 200, 200]),
  );
  assert.equal(called.status, 200, called.text);
  const result = await client.call("rehearse", { body: {} });
  assert.deepEqual(outcomes(result), { ...NONE, same: 22 });
  assert.deepEqual([...result.nodes].sort(), ["n1", "n2", "n3"]);
  assert.deepEqual(result.unanswered, []);
  assert.equal(result.configuration_changed, false);
  assert.deepEqual(outcomes(await rehearse({})), { ...NONE, same: 22 });
});

test("a rule that would refuse one team is reported with the team and the requests", async () => {
  const rule = { name: "no-previews", at: ["llm"], condition: 'model.endsWith("-preview")', action: "deny" };
  const result = await rehearse({ access_rules: [rule] });
  assert.deepEqual(outcomes(result), { ...NONE, same: 10, refused: 9, served: 3 });
  assert.deepEqual(result.changes, [
    { outcome: "refused", cause: "rule no-previews", requests: 9, callers: [{ caller: "ci", requests: 9 }] },
    { outcome: "served", cause: "rule no-nine", requests: 3, callers: [{ caller: "ci", requests: 3 }] },
  ]);
  assert.equal(result.examples?.length, 12);
  const explained = await client.call("list_requests", { query: { nodes: "all" } });
  const ids = new Set(explained.items.map(({ id }) => id));
  for (const { id } of result.examples ?? []) assert.ok(ids.has(id), id);
});

test("a budget cut in half refuses the requests after it was spent", async () => {
  const [budget] = inForce["budgets"] as readonly Document[];
  // Charges of the last two seconds may not be in the budget's ledger yet.
  const result = await eventually("a rehearsal that knows what was spent", async () => {
    const answer = await rehearse({ budgets: [{ ...budget, limit: 6 }] });
    return answer.unknown === 0 ? answer : undefined;
  });
  assert.deepEqual(outcomes(result), { ...NONE, same: 19, refused: 3 });
  assert.deepEqual(result.changes[0]?.cause, "budget calls");
});

test("a shortened model list refuses the models that were removed", async () => {
  const profiles = [
    { name: "ci", allowed_models: ["sim-9"] },
    { name: "web", budget: "calls" },
  ];
  const result = await rehearse({ profiles });
  assert.deepEqual(outcomes(result), { ...NONE, same: 13, refused: 9 });
});

test("a route to another provider is reported with its name", async () => {
  const providers = [
    { ...simProvider("other", simulator), models: ["other-*", "sim-1"] },
    { ...simProvider("sim", simulator), models: ["sim-*"] },
  ];
  const result = await rehearse({ providers });
  assert.deepEqual(outcomes(result), { ...NONE, same: 13, other_provider: 9 });
  assert.deepEqual(result.changes[0]?.cause, "other");
});

test("data that is not recorded is not guessed: arguments, new detectors", async () => {
  const reads = { name: "no-secrets", at: ["mcp"], condition: "has(args.secret)", action: "deny" };
  const byArguments = await rehearse({ access_rules: [...(inForce["access_rules"] as Document[]), reads] });
  assert.deepEqual(outcomes(byArguments), { ...NONE, same: 21, unknown: 1 });
  assert.deepEqual(byArguments.reasons, [{ reason: "rule `no-secrets` reads arguments", requests: 1 }]);
  const guardrails = {
    detectors: [{ type: "pii", name: "mails", entities: ["EMAIL_ADDRESS"], prefilter: "pure" }],
    rules: [{ name: "mask", action: "redact", operator: "replace" }],
  };
  const detected = await rehearse({ guardrails });
  assert.deepEqual(outcomes(detected), { ...NONE, same: 3, unknown: 19 });
  assert.deepEqual(detected.reasons, [{ reason: "detector `mails` is new", requests: 19 }]);
});

test("a document that does not compile is refused with its problems", async () => {
  const refused = client.call("rehearse", { body: { document: '{"providers":[{}]}' } });
  await assert.rejects(refused, (error) => error instanceof AdminError && error.code === "refused");
});

const verb = async (...args: readonly string[]) => {
  const io = bufferIo({
    env: { GATEWAY_ADMIN_SOCKET: join(node.dir, "admin.sock") },
    cwd: node.dir,
    now: () => Date.now(),
  });
  const status = await execute(["rehearse", ...args], io);
  return { status, out: io.out(), err: io.err() };
};

test("the verb prints a sentence and a table, and fails if a served request would be refused", async () => {
  const rule = { name: "no-previews", at: ["llm"], condition: 'model.endsWith("-preview")', action: "deny" };
  await writeFile(join(node.dir, "new.json"), JSON.stringify({ ...inForce, access_rules: [rule] }));
  const { status, out, err } = await verb("new.json", "-since", "30m");
  assert.equal(status, 1, err);
  assert.match(
    out,
    /^Last 30m: 22 requests: 9 would be refused by rule no-previews \(all of ci\), 3 that rule no-nine/,
  );
  assert.match(out, /would be refused +rule no-previews +9 +ci 9\n/);
  await writeFile(join(node.dir, "same.json"), JSON.stringify(inForce));
  const same = await verb("same.json");
  assert.equal(same.status, 0, same.err);
  assert.match(same.out, /^Last 1h: 22 requests, all with the same outcome\.\n/);
  const narrowed = await verb("-profile", "ci", "-set", "allowed_models=sim-9", "-o", "json");
  assert.equal(narrowed.status, 1, narrowed.err);
  assert.equal((JSON.parse(narrowed.out) as RehearsalResult).refused, 9);
  const halved = await verb("-budget", "calls", "-set", "limit=6");
  assert.match(halved.out, /3 would be refused by budget calls \(all of web\)/);
});

test("a pack added to the document is rehearsed like any change", async () => {
  const path = join(node.dir, "packed.json");
  await writeFile(path, JSON.stringify(inForce));
  const io = bufferIo({ env: {}, cwd: node.dir, now: () => Date.now() });
  const added = await execute(["pack", "add", "-deployment", path, "-write", "baseline-agents"], io);
  assert.equal(added, 0, io.err());
  const { status, out, err } = await verb("packed.json", "-o", "json");
  assert.equal(status, 1, err);
  const result = JSON.parse(out) as RehearsalResult;
  assert.deepEqual(outcomes(result), { ...NONE, same: 21, refused: 1 });
  assert.deepEqual(result.changes[0]?.cause, "rule deny-destructive-tools");
});

test("the verb refuses what it cannot change", async () => {
  for (const args of [
    [],
    ["-set", "budget=calls"],
    ["-profile", "ci"],
    ["-profile", "ci", "-budget", "calls", "-set", "limit=1"],
    ["-profile", "nobody", "-set", "budget=calls"],
    ["-profile", "ci", "-set", "limit=1"],
    ["-budget", "calls", "-set", "limit=many"],
  ]) {
    assert.equal((await verb(...args)).status, 2, args.join(" "));
  }
});

test("no request text appears in an answer, a log or the audit trail; who rehearsed what is recorded", async () => {
  const answers = [await client.call("rehearse", { body: {} }), await rehearse({ access_rules: [] })];
  assert.doesNotMatch(JSON.stringify(answers), new RegExp(CANARY));
  const { items } = await client.call("list_audit_records", { query: { limit: 1000 } });
  const own = items.map(({ data }) => data as Document).filter((data) => data["action"] === "rehearse");
  assert.ok(own.length > 5);
  assert.equal(own.at(-1)?.["dry_run"], true);
  assert.equal(typeof own.at(-1)?.["refused"], "number");
  for (const { node: one } of nodes) assert.doesNotMatch(one.output(), new RegExp(CANARY));
});
