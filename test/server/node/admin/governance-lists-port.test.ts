/** The port `GovernanceLists` over real configurations, states and ledgers: rows, buckets, notifications of listeners. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type TestContext, test } from "node:test";
import { TABLES } from "../../../../src/admin-api/index.ts";
import { faultsOf } from "../../../../src/server/admin/validate-input.ts";
import type { BudgetRule } from "../../../../src/server/core/budgets/index.ts";
import { compilePolicies } from "../../../../src/server/core/policy/index.ts";
import { commands } from "../../../../src/server/core/state/index.ts";
import { governanceListsPort } from "../../../../src/server/node/admin/governance-lists-port.ts";
import { type CompiledSources, compileSources } from "../../../../src/server/node/configuration/compile-sources.ts";
import type { Governance, Profile } from "../../../../src/server/snapshot/index.ts";
import { governedContract } from "../../admin/support/governed-contract.ts";
import { HOUR, stateFile } from "../../core/state/harness.ts";
import { createGovernedCluster, MIDNIGHT, ruleOf, type Spender } from "../support/governed-cluster.ts";

const NO_SECRET = { kind: "problem", message: "none", missing: true } as const;
const PROVIDER = { name: "one", dialect: "compat", base_url: "https://models.example.com/v1" };

/** An active configuration with the test's governance. */
function compile(governance: (plain: Governance) => Partial<Governance>): CompiledSources {
  const sources = [{ name: "test", text: JSON.stringify({ providers: [PROVIDER] }) }];
  const secrets = { secret: () => NO_SECRET, file: () => NO_SECRET };
  const { compiled, ...rest } = compileSources({ sources, env: {}, secrets, fileOverlays: [] });
  assert.ok(compiled.kind === "compiled");
  const { snapshot } = compiled;
  const governed = { ...snapshot.governance, ...governance(snapshot.governance) };
  return { ...rest, compiled: { ...compiled, snapshot: { ...snapshot, governance: governed } } };
}

function profileOf(plain: Governance, name: string, over: Partial<Profile> = {}): Profile {
  const none = plain.profile(undefined);
  assert.ok(none);
  return { ...none, name, ...over };
}

function open(ids: readonly string[] = ["n1", "n2", "n3"]) {
  const cluster = createGovernedCluster(ids);
  const nodes = new Map(ids.map((id): [string, Spender] => [id, cluster.node(id)]));
  const node = (id: string): Spender => {
    const found = nodes.get(id);
    assert.ok(found);
    return found;
  };
  let running: CompiledSources | undefined;
  const listeners = new Set<() => void>();
  const configuration = {
    running: () => running,
    onChange(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const [own = ""] = ids;
  const refused = new Map<string, number>();
  const refusing = new Set<() => void>();
  const refusals = {
    ofBucket: (bucket: string) => refused.get(bucket) ?? 0,
    onChange(listener: () => void) {
      refusing.add(listener);
      return () => refusing.delete(listener);
    },
  };
  const governed = governanceListsPort({
    configuration,
    view: cluster.view,
    node: own,
    ledger: node(own).known,
    refusals,
  });
  const run = (governance: (plain: Governance) => Partial<Governance>): void => {
    running = compile(governance);
    for (const listener of listeners) listener();
  };
  return {
    ...cluster,
    node,
    governed,
    run: cluster.run,
    configure: run,
    budgets: (...budgets: readonly BudgetRule[]) => run(() => ({ budgets })),
    async rows() {
      const rows = [...(await governed.budgets())];
      for (const row of rows) {
        assert.deepEqual(faultsOf(TABLES.budgets, row), []);
        assert.equal(
          row.granted,
          row.holders.reduce((sum, { granted }) => sum + granted, 0),
          "granted is the sum over the holders",
        );
      }
      return rows;
    },
    mint(name: string, id: string) {
      const keyRow = { id, name, profile: null, metadata: {}, digest: "ab".repeat(32), expires_in_ms: null };
      cluster.run(commands.keyCreate(keyRow));
    },
  };
}

governedContract("governance of a node", () => {
  const { governed, configure } = open();
  return {
    governed,
    configure: ({ profiles, issuers, budgets }) =>
      configure((plain) => ({
        profiles: profiles.map((name) => profileOf(plain, name)),
        budgets: budgets.map((name) => ruleOf(name, 100, "hour", true)),
        auth: {
          virtualKeys: true,
          publicUrl: undefined,
          issuers: issuers.map((issuer) => ({
            issuer,
            audience: "a",
            subject: "agent",
            profile: undefined,
            profiles: undefined,
          })),
        },
      })),
  };
});

test("a profile has its budget, models, capabilities, the deployment's rules and then its own", () => {
  const { governed, configure } = open();
  const budget = ruleOf("day", 100, "day", true);
  const rule = { at: ["llm"], condition: "true", action: "deny", on_error: "fail_closed" } as const;
  const { policies } = compilePolicies({
    access_rules: [{ ...rule, name: "common" }],
    profiles: [{ name: "chat", access_rules: [{ ...rule, name: "own" }] }],
  });
  const shown = (name: string, layer: "deployment" | "profile") => ({ name, action: "deny", layer, at: ["llm"] });
  const common = shown("common", "deployment");
  configure((plain) => ({
    policies,
    profiles: [
      profileOf(plain, "plain"),
      profileOf(plain, "chat", { budget, allowedModels: ["gpt-*"], requireCaps: ["tools"], ownRules: 2 }),
    ],
  }));
  assert.deepEqual(governed.profiles(), [
    {
      ...{ name: "plain", budget: null, allowed_models: [], require_caps: [], access_rules: 0 },
      ...{ rules: [common], detectors: null },
    },
    {
      name: "chat",
      budget: "day",
      allowed_models: ["gpt-*"],
      require_caps: ["tools"],
      access_rules: 2,
      rules: [common, shown("own", "profile")],
      detectors: null,
    },
  ]);
});

test("the row of a shared bucket shows each node's grant, and this node's unreported usage", async () => {
  const { budgets, node, rows } = open();
  const team = ruleOf("team", 1_000, "hour", true);
  budgets(team);
  const [here, there] = [node("n1"), node("n2")];
  const charge = here.hold(team, 100);
  here.exchange();
  there.hold(team, 50);
  there.exchange();
  const { holders, ...row } = (await rows())[0] ?? assert.fail();
  assert.deepEqual(row, {
    budget: "team",
    bucket: "shared",
    key: null,
    limit: 1_000,
    used: 0,
    reserved: 100,
    granted: row.granted,
    unaccounted: 0,
    remaining: 900,
    window: "1h",
    resets_at: new Date(MIDNIGHT + HOUR).toISOString(),
    status: "ok",
    refused_per_minute: 0,
    node: "n1",
  });
  assert.deepEqual(
    holders.map((it) => [it.node, it.granted >= 50, it.spent]),
    [
      ["n1", true, 0],
      ["n2", true, 0],
    ],
  );
  const granted = holders[0]?.granted ?? 0;
  charge(70);
  const [spent] = await rows();
  assert.deepEqual(spent?.holders[0], { node: "n1", granted: granted - 70, spent: 70 });
  assert.deepEqual([spent?.used, spent?.reserved], [70, 0]);
});

test("usage reported by another node counts as used here too, and reduces its grant", async () => {
  const { budgets, node, rows, at } = open();
  const team = ruleOf("team", 1_000, "hour", true);
  budgets(team);
  const there = node("n2");
  const charge = there.hold(team, 100);
  there.exchange();
  const granted = (await rows())[0]?.granted ?? 0;
  charge(60);
  assert.equal((await rows())[0]?.used, 0, "not reported yet");
  at.now += 600;
  there.exchange();
  const [row] = await rows();
  assert.deepEqual([row?.used, row?.holders], [60, [{ node: "n2", granted: granted - 60, spent: 60 }]]);
});

test("used buckets of individual keys are listed under the key's id and name", async () => {
  const { budgets, mint, node, rows } = open();
  const own = ruleOf("own/100%", 100, "hour", false);
  budgets(own, ruleOf("unused", 5, "day", false), ruleOf("team", 10, "hour", true));
  for (let number = 0; number < 1_000; number++) mint(`key-${number}`, `id${String(number).padStart(6, "0")}`);
  const [here, there] = [node("n1"), node("n2")];
  here.hold(own, 10, "id000007")(10);
  there.hold(own, 10, "id000011");
  here.exchange();
  there.exchange();
  assert.deepEqual(
    (await rows()).map((row) => [row.budget, row.bucket, row.key, row.limit]),
    [
      ["team", "shared", null, 10],
      ["own/100%", "id000007", "key-7", 100],
      ["own/100%", "id000011", "key-11", 100],
    ],
  );
});

test("a bucket known only to this node's ledger is listed once", async () => {
  const { budgets, mint, node, rows } = open();
  const own = ruleOf("own", 100, "hour", false);
  budgets(own);
  mint("ci", "aaaaaaaa");
  node("n1").hold(own, 10, "aaaaaaaa");
  const grants = async () => (await rows()).map((row) => [row.bucket, row.key, row.granted > 0]);
  assert.deepEqual(await grants(), [["aaaaaaaa", "ci", false]], "while no leader answers");
  node("n1").exchange();
  assert.deepEqual(await grants(), [["aaaaaaaa", "ci", true]]);
});

test("the bucket of a token or of a deleted key has no key name", async () => {
  const { budgets, mint, run, node, rows } = open();
  const own = ruleOf("own", 100, "hour", false);
  budgets(own);
  mint("ci", "aaaaaaaa");
  const digest = createHash("sha256").update("issuer subject").digest("base64url");
  for (const principal of ["aaaaaaaa", digest, "a/b%c"]) node("n1").hold(own, 1, principal);
  node("n1").exchange();
  run(commands.keyDelete({ name: "ci" }));
  assert.deepEqual(
    new Set((await rows()).map((row) => `${row.bucket} ${row.key}`)),
    new Set(["aaaaaaaa null", `${digest} null`, "a/b%c null"]),
  );
});

test("in a new window a shared bucket is full again, and an individual one is not listed", async () => {
  const { budgets, node, rows, at, governed } = open(["n1", "n2"]);
  const [team, own] = [ruleOf("team", 100, "hour", true), ruleOf("own", 100, "hour", false)];
  budgets(team, own);
  const there = node("n2");
  there.hold(team, 90)(90);
  there.hold(own, 90, "aaaaaaaa")(90);
  there.exchange();
  at.now += 600;
  there.exchange();
  assert.equal((await rows()).length, 2);
  const before = await governed.budgets();
  at.now = MIDNIGHT + HOUR;
  const fresh = (all: Awaited<ReturnType<typeof rows>>) =>
    all.map((row) => [row.budget, row.used, row.remaining, row.holders.length]);
  assert.deepEqual(fresh(await rows()), [["team", 0, 100, 0]]);
  assert.deepEqual(fresh([...before]), [["team", 0, 100, 0]], "also of a list that was taken before");
});

test("usage of a removed budget, or of another window length, is not listed", async () => {
  const { budgets, node, rows } = open();
  const own = ruleOf("own", 100, "hour", false);
  node("n2").hold(own, 10, "aaaaaaaa");
  node("n2").exchange();
  budgets(ruleOf("own", 100, "day", false), ruleOf("other", 100, "hour", false));
  assert.deepEqual(await rows(), []);
  budgets(own);
  assert.equal((await rows()).length, 1);
  budgets(ruleOf("own", 100, "hour", true));
  assert.deepEqual(
    (await rows()).map((row) => [row.bucket, row.used]),
    [["shared", 0]],
    "a budget that is shared now",
  );
});

test("usage in a restored archive still counts: in the rows, and for further requests", async () => {
  const before = open(["old"]);
  const [team, own] = [ruleOf("team", 1_000, "day", true), ruleOf("own", 100, "day", false)];
  before.mint("ci", "aaaaaaaa");
  const then = before.node("old");
  const charge = then.hold(team, 600);
  then.hold(own, 100, "aaaaaaaa");
  then.exchange();
  charge(600);
  before.at.now += 600;
  then.exchange();
  const archive = stateFile(before.at.state);

  const after = open(["n1", "n2"]);
  const sha256 = createHash("sha256").update(archive).digest("hex");
  after.run(commands.blobPut({ sha256, part: 0, of: 1, data: archive.toString("base64") }));
  const rowCount = Number(archive.readBigUInt64BE(archive.length - 24));
  const digest = archive.subarray(-16).toString("hex");
  after.run(commands.stateRestore({ sha256, parts: 1, rows: rowCount, digest }));
  after.budgets(team, own);
  const used = (await after.rows()).map((row) => [row.bucket, row.key, row.used >= 100, row.status, row.holders]);
  assert.deepEqual(used, [
    ["shared", null, true, "ok", []],
    ["aaaaaaaa", "ci", true, "exhausted", []],
  ]);
  const [shared] = await after.rows();
  assert.ok(shared && shared.used >= 600, "what was granted and not reported counts as used");

  const now = after.node("n1");
  now.restart();
  const left = 1_000 - shared.used;
  for (let ask = 0; ask < 100; ask++) now.ask(team, 1_000);
  assert.equal(now.ask(team, 1_000).granted, left, "no more than was left of the limit");
  assert.deepEqual((await after.rows())[0]?.holders, [{ node: "n1", granted: left, spent: 0 }]);
  assert.deepEqual(now.ask(own, 1, "aaaaaaaa").granted, 0, "nothing was");
});

/** Counts a listener's notifications of measurements, with timers controlled by the test. */
function listening(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const opened = open();
  const team = ruleOf("team", 1_000_000, "minute", true);
  opened.budgets(team, ruleOf("long", 10, "week", true));
  const reported: string[] = [];
  const end = opened.governed.onChange((what) => reported.push(what));
  return {
    ...opened,
    end,
    callCount: () => reported.length,
    spend() {
      opened.node("n2").ask(team, 1);
    },
    tick(ms: number) {
      for (let passed = 0; passed < ms; passed += 100) {
        opened.at.now += 100;
        t.mock.timers.tick(100);
      }
    },
  };
}

test("listeners are called at most once a second while units are spent", (t) => {
  const { spend, tick, callCount } = listening(t);
  for (let at = 0; at < 100; at++) {
    spend();
    tick(100);
  }
  assert.equal(callCount(), 11, "at once, then each second for ten");
  tick(2_000);
  assert.equal(callCount(), 11, "of each change once");
});

test("listeners are not called while nothing is spent, but are at the end of a window with spending", (t) => {
  const { spend, tick, callCount } = listening(t);
  tick(300_000);
  assert.equal(callCount(), 0);
  spend();
  tick(30_000);
  assert.equal(callCount(), 1, "of the change");
  tick(40_000);
  assert.equal(callCount(), 2, "of the end of its minute");
});

test("a new configuration is reported at once, and a refused or identical one is not", (t) => {
  const { budgets, callCount } = listening(t);
  budgets(ruleOf("other", 1, "hour", true));
  assert.equal(callCount(), 1);
});

test("without listeners nothing is reported and no timer is set", (t) => {
  const { spend, tick, callCount, end } = listening(t);
  spend();
  spend();
  const before = callCount();
  end();
  const set = t.mock.method(globalThis, "setTimeout");
  tick(600_000);
  spend();
  tick(600_000);
  assert.deepEqual([callCount(), set.mock.callCount()], [before, 0]);
});
