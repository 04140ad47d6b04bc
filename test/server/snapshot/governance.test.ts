import assert from "node:assert/strict";
import { test } from "node:test";
import type { BudgetRule, Usage } from "../../../src/server/core/budgets/index.ts";
import type { Verdict } from "../../../src/server/core/policy/index.ts";
import { callerVariables, llmVariables } from "../../../src/server/core/policy/variables/index.ts";
import type { Profile } from "../../../src/server/snapshot/index.ts";
import { governanceOf, PROVIDERS, snapshotOf } from "./governed.ts";

const USAGE: Usage = {
  inputTokens: 100,
  outputTokens: 20,
  totalTokens: 120,
  cachedInputTokens: 30,
  cacheCreationInputTokens: 4,
  reasoningTokens: 5,
};

const AT = { model: "gpt-5", backend: "openai" };

function decide({ policy }: Pick<Profile, "policy">, model: string, provider = "openai"): Verdict {
  const caller = callerVariables({ key: { name: "ci", metadata: {} }, agent: undefined, user: undefined });
  return policy.decide(
    "llm",
    llmVariables(caller, { model, upstreamModel: model, provider: { name: provider, metadata: {} }, route: "r" }),
  );
}

function profileOf(governance: Awaited<ReturnType<typeof governanceOf>>, name?: string): Profile {
  const profile = governance.profile(name);
  assert.ok(profile, `profile ${name}`);
  return profile;
}

async function budgetOf(cost: string, more = ""): Promise<BudgetRule> {
  const { budgets } = await governanceOf(
    `${PROVIDERS}auth: {virtual_keys: true}\nprofiles: [{name: p, budget: b}]\nbudgets: [{name: b, limit: 5, cost: ${cost}${more}}]`,
  );
  assert.ok(budgets[0]);
  return budgets[0];
}

test("an empty document lets everybody do everything", async () => {
  for (const text of ["{}", PROVIDERS]) {
    const governance = await governanceOf(text);
    const { auth, publicUrl, meters, profiles, budgets, policies } = governance;
    assert.deepEqual(
      { auth, publicUrl, meters, profiles, budgets, rules: policies.rules },
      {
        auth: undefined,
        publicUrl: undefined,
        meters: false,
        profiles: [],
        budgets: [],
        rules: [],
      },
    );
    const nobody = profileOf(governance);
    const { name, allowedModels, allows, requireCaps, budget, ownRules } = nobody;
    assert.deepEqual(
      [name, allowedModels, allows, requireCaps, budget, ownRules],
      [undefined, [], undefined, [], undefined, 0],
    );
    assert.deepEqual(nobody.policy.count, { llm: 0, mcp: 0, a2a: 0 });
    assert.deepEqual(decide(nobody, "gpt-5"), { kind: "allow", decisions: [], skipped: [] });
    assert.equal(governance.profile("p"), undefined);
  }
});

test("a profile is found by its name, and an unknown name finds none", async () => {
  const governance = await governanceOf(`${PROVIDERS}auth: {virtual_keys: true}
budgets: [{name: small, limit: 10}]
profiles:
  - {name: team, allowed_models: [gpt-5, claude-*], require_caps: [tools], budget: small}
  - {name: open, allowed_models: [], budget: ""}
access_rules: [{name: all, at: [llm], condition: model == 'gpt-4', action: deny}]
`);
  const [team, open] = [profileOf(governance, "team"), profileOf(governance, "open")];
  assert.deepEqual(governance.profiles, [team, open]);
  assert.equal(governance.profile("constructor"), undefined);
  assert.deepEqual(
    ["gpt-5", "gpt-5-mini", "claude-opus", "claude", "llama"].map((model) => team.allows?.(model)),
    [true, false, true, false, false],
  );
  assert.deepEqual([team.allowedModels, team.requireCaps], [["gpt-5", "claude-*"], ["tools"]]);
  assert.equal(team.budget, governance.budgets[0]);
  assert.deepEqual([open.allows, open.budget, open.ownRules], [undefined, undefined, 0]);
  for (const value of [governance, governance.profiles, team, team.allowedModels, team.requireCaps, team.budget]) {
    assert.ok(Object.isFrozen(value));
  }
});

test("the deployment's rules apply to everybody, and a profile's own to it alone", async () => {
  const governance = await governanceOf(`${PROVIDERS}auth: {virtual_keys: true}
access_rules:
  - {name: no-old, at: [llm], condition: model == 'gpt-4', action: deny, message: too old, controls: [C-1]}
profiles:
  - {name: team, access_rules: [{name: no-claude, at: [llm], condition: provider == 'anthropic', action: deny}]}
  - {name: open}
`);
  const [team, open, nobody] = [profileOf(governance, "team"), profileOf(governance, "open"), profileOf(governance)];
  for (const profile of [team, open, nobody]) {
    const verdict = decide(profile, "gpt-4");
    assert.ok(verdict.kind === "deny");
    assert.deepEqual(
      [verdict.message, verdict.by],
      ["too old", { rule: "no-old", layer: { kind: "deployment" }, action: "deny", controls: ["C-1"] }],
    );
  }
  assert.deepEqual(
    [team, open, nobody].map((profile) => decide(profile, "claude-x", "anthropic").kind),
    ["deny", "allow", "allow"],
  );
  assert.deepEqual([team.ownRules, open.ownRules, nobody.ownRules], [1, 0, 0]);
  assert.deepEqual(
    governance.policies.rules.map(({ rule, hops }) => [rule.name, hops]),
    [
      ["no-old", ["llm"]],
      ["no-claude", ["llm"]],
    ],
  );
});

test("budgets have window, limit and their revision", async () => {
  const { budgets } = await governanceOf(
    `budgets:
  - {name: a, limit: 5}
  - {name: b, limit: 6, window: 90s, shared: true, cost: {type: OutputToken}}
`,
    { limitRev: 42 },
  );
  const facts = budgets.map(({ name, limit, limitRev, windowMs, isShared, cost }) => [
    name,
    limit,
    limitRev,
    windowMs,
    isShared,
    cost(USAGE, AT),
  ]);
  assert.deepEqual(facts, [
    ["a", 5, 42, 86_400_000, false, { kind: "units", units: 120 }],
    ["b", 6, 42, 90_000, true, { kind: "units", units: 20 }],
  ]);
});

const COSTS: readonly (readonly [cel: string, units: number])[] = [
  ["7", 7],
  ["input_tokens - cached_input_tokens + 4 * output_tokens", 150],
  ["total_tokens + cache_creation_input_tokens + reasoning_tokens", 129],
  ["double(input_tokens) * 0.001", 1],
  ["uint(3)", 3],
  ["backend == 'openai' && model.startsWith('gpt-') ? 2 : 1", 2],
];

for (const [cel, units] of COSTS) {
  test(`the cost \`${cel}\` is computed from model, provider and counts`, async () => {
    const { cost } = await budgetOf(`{type: CEL, cel: ${JSON.stringify(cel)}}`);
    assert.deepEqual(cost(USAGE, AT), { kind: "units", units });
  });
}

test("a cost that cannot be computed is an error, and an estimate may be fractional", async () => {
  const { cost } = await budgetOf(`{type: CEL, cel: "total_tokens / (output_tokens - 20)"}`);
  assert.equal(cost(USAGE, AT).kind, "error");
  assert.deepEqual(cost({ ...USAGE, outputTokens: 21.5, totalTokens: 4 }, AT), { kind: "units", units: 2 });
  const negative = await budgetOf(`{type: CEL, cel: "output_tokens - 100"}`);
  assert.equal(negative.cost(USAGE, AT).kind, "error");
  const endless = await budgetOf(`{type: CEL, cel: "[1, 2, 3].map(i, model + model).size()"}`);
  assert.deepEqual(endless.cost({ ...USAGE }, { ...AT, model: "m".repeat(10_000_000) }), {
    kind: "error",
    message: "the evaluation costs more than its budget",
  });
});

test("the caller settings are copied without empty entries", async () => {
  const { auth, publicUrl } = await governanceOf(`auth:
  virtual_keys: true
  issuers:
    - {issuer: corp, audience: models, subject: user, profile: p, profiles: {claim: groups, select: [{value: a, profile: q}]}}
    - {issuer: corp, audience: jobs, subject: agent, profile: ""}
profiles: [{name: p}, {name: q}]
public_url: HTTPS://Gateway.Example.com:443/models//
`);
  assert.equal(publicUrl, "https://gateway.example.com/models");
  assert.deepEqual(auth, {
    virtualKeys: true,
    publicUrl,
    issuers: [
      {
        issuer: "corp",
        audience: "models",
        subject: "user",
        profile: "p",
        profiles: { claim: "groups", select: [{ value: "a", profile: "q" }] },
      },
      { issuer: "corp", audience: "jobs", subject: "agent", profile: undefined, profiles: undefined },
    ],
  });
  assert.equal((await governanceOf("public_url: http://g.example.com:8484/")).publicUrl, "http://g.example.com:8484");
});

test("usage is read if auth, a budget or reconciliation needs it, unless the provider refuses the option", async () => {
  const of = async (more: string, hasReconciled?: boolean): Promise<readonly boolean[]> => {
    const { governance, providers } = await snapshotOf(
      `${PROVIDERS}  - {name: own, dialect: compat, base_url: "http://o", api_key: k, stream_usage: false, models: [m]}\n${more}`,
      { hasReconciled },
    );
    return [governance.meters, ...providers.map(({ asksStreamUsage }) => asksStreamUsage)];
  };
  assert.deepEqual(await of(""), [false, false, false, false]);
  assert.deepEqual(await of("auth: {virtual_keys: true}"), [true, true, true, false]);
  assert.deepEqual(await of("budgets: [{name: b, limit: 1}]"), [true, true, true, false]);
  const reconcile = "reconcile: {providers: [{provider: own, type: compat, admin_key: k}]}";
  assert.deepEqual(await of(reconcile), [true, true, true, false]);
  assert.deepEqual(await of("", true), [true, true, true, false], "what was reconciled is metered on");
});

test("the metadata of a provider is compiled", async () => {
  const { providers } = await snapshotOf(
    "providers: [{preset: openai, metadata: {tier: gold}, cost_per_session: 9}, {preset: anthropic}]\ndefault_provider: openai",
  );
  assert.deepEqual(
    providers.map(({ metadata, costPerSession }) => [metadata, costPerSession]),
    [
      [{ tier: "gold" }, 9],
      [{}, 1],
    ],
  );
});
