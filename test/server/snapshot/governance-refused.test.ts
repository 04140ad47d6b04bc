/** Compile errors and warnings of governance, each with its place. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrustedSettings } from "../../../src/server/snapshot/index.ts";
import { compile, linesOf, PROVIDERS, problemsOf } from "./governed.ts";

const TRUSTED: TrustedSettings = {
  issuers: ["corp", "other"],
  adminAudiences: new Map([["corp", new Set(["gateway-admin", "https://g.example.com/mcp/tools"])]]),
};

test("issuers are entries of the node file, and their audiences must differ from the admin API's", async () => {
  const bound = (issuer: string, audience: string, more = ""): string =>
    `auth:\n  issuers: [{issuer: ${issuer}, audience: ${audience}, subject: user}]\n${more}`;
  const of = (text: string) => problemsOf(text, { trusted: TRUSTED });
  assert.deepEqual(await of(bound("corp", "models")), []);
  assert.deepEqual(await of(bound("other", "gateway-admin")), []);
  assert.deepEqual(await of(bound("crop", "models")), [
    `2:22: auth.issuers[0].issuer: "crop" is no entry of \`issuers\` of this node's file; did you mean "corp"?`,
  ]);
  assert.deepEqual(await of(bound("elsewhere", "models")), [
    `2:22: auth.issuers[0].issuer: this names no entry of \`issuers\` of this node's file, which has "corp", "other"`,
  ]);
  assert.deepEqual(await of(bound("corp", "gateway-admin")), [
    "2:38: auth.issuers[0].audience: tokens of this issuer for this audience are also valid for the admin API; use another audience for the data plane",
  ]);
  assert.deepEqual(await of(bound("corp", "models", "public_url: https://g.example.com/\n")), [
    "3:13: public_url: tokens of issuer corp for this address open the admin API; give its binding in `admin.issuers` of the node file another `audience`",
  ]);
  assert.deepEqual(await of(bound("other", "models", "public_url: https://g.example.com/\n")), []);
  assert.deepEqual(await problemsOf(bound("crop", "models")), []);
});

const GOVERNED = `${PROVIDERS}auth: {virtual_keys: true}\n`;

/** Lines begin after the four of `GOVERNED`. */
const FAULTS: readonly (readonly [behaviour: string, text: string, problems: readonly string[]])[] = [
  [
    "a window under a second is refused",
    "profiles: [{name: p, budget: b}]\nbudgets: [{name: b, limit: 1, window: 900ms}]",
    ["6:39: budgets[0].window: a window is at least one second long"],
  ],
  [
    "a window of no length is refused",
    "profiles: [{name: p, budget: b}]\nbudgets: [{name: b, limit: 1, window: 0s}]",
    ["6:39: budgets[0].window: a window is at least one second long"],
  ],
  [
    "a limit beyond what a budget holds gets a warning",
    "profiles: [{name: p, budget: b}]\nbudgets: [{name: b, limit: 2000000000000}]",
    ["6:28: budgets[0].limit: warning: lowered to 1000000000000, which is the maximum"],
  ],
  [
    "a cost of an unknown variable is refused at its column",
    "profiles: [{name: p, budget: b}]\nbudgets:\n  - name: b\n    limit: 1\n    cost: {type: CEL, cel: 2 * tokens}",
    ["9:28: budgets[0].cost.cel: column 5: there is no variable `tokens`"],
  ],
  [
    "a cost of several lines is placed by line and column",
    "profiles: [{name: p, budget: b}]\nbudgets:\n  - name: b\n    limit: 1\n    cost:\n      type: CEL\n      cel: |\n        input_tokens +\n          'x'\n",
    ["11:12: budgets[0].cost.cel: line 1, column 14: "],
  ],
  [
    "a cost that is not a number is refused",
    "profiles: [{name: p, budget: b}]\nbudgets: [{name: b, limit: 1, cost: {type: CEL, cel: model}}]",
    ["6:54: budgets[0].cost.cel: column 1: the result must be a number, found string"],
  ],
  [
    "a cost that is always negative is refused",
    "profiles: [{name: p, budget: b}]\nbudgets: [{name: b, limit: 1, cost: {type: CEL, cel: 1 - 2}}]",
    ["6:54: budgets[0].cost.cel: is always negative or not a number"],
  ],
  [
    "a cost that always fails is refused",
    "profiles: [{name: p, budget: b}]\nbudgets: [{name: b, limit: 1, cost: {type: CEL, cel: input_tokens + 1 / 0}}]",
    ["6:54: budgets[0].cost.cel: column "],
  ],
  [
    "a cost that nests loops is refused",
    `profiles: [{name: p, budget: b}]\nbudgets: [{name: b, limit: 1, cost: {type: CEL, cel: "${nestedLoops(9)}"}}]`,
    ["6:54: budgets[0].cost.cel: column 211: costs up to "],
  ],
  [
    "a cost that asks for a provider that does not exist gets a warning",
    "profiles: [{name: p, budget: b}]\nbudgets: [{name: b, limit: 1, cost: {type: CEL, cel: \"backend == 'openia' ? 2 : 1\"}}]",
    ["6:54: budgets[0].cost.cel: warning: column 12: there is no provider `openia`, did you mean `openai`?"],
  ],
  [
    "a rule without `at` that reads `model` is refused, and the hop it belongs to is proposed",
    "access_rules: [{name: r, condition: model == 'x', action: deny}]",
    [
      "5:37: access_rules[0].condition: column 1: `model` is declared only at llm, but a rule without `at` applies to llm, mcp and a2a; say `at: [llm]`",
    ],
  ],
  [
    "a profile's rule is placed in the profile",
    "profiles:\n  - name: p\n    access_rules:\n      - {name: r, condition: 'key.nme == \"x\"', action: deny}",
    ["8:30: profiles[0].access_rules[0].condition: column 4: "],
  ],
  [
    "a rule that names a provider or a model that does not exist gets a warning that it never matches",
    "access_rules:\n  - {name: a, at: [llm], condition: provider == 'opnai', action: deny}\n  - {name: b, at: [llm], condition: model == 'llama', action: deny}\n  - {name: c, at: [llm], condition: route == 'chat', action: deny}",
    [
      "6:37: access_rules[0].condition: warning: column 13: there is no provider `opnai`, did you mean `openai`?: the rule never matches",
      "7:37: access_rules[1].condition: warning: column 10: there is no routed model `llama`: the rule never matches",
      "8:37: access_rules[2].condition: warning: column 10: there is no route `chat`: the rule never matches",
    ],
  ],
  [
    "a rule at a server that does not exist gets a warning that it never matches",
    "access_rules: [{name: r, at: [mcp], condition: server == 'search', action: deny}]",
    ["5:48: access_rules[0].condition: warning: column 11: there is no MCP server `search`: the rule never matches"],
  ],
  [
    "a rule about users gets a warning where no issuer has users, and one about agents where there is no issuer",
    "access_rules: [{name: r, condition: user.email != '' && agent.name != '', action: deny}]",
    [
      "5:37: access_rules[0].condition: warning: reads `user`, which is empty for every caller: no issuer of `auth` has `subject: user`",
      "5:37: access_rules[0].condition: warning: reads `agent`, which is empty for every caller: `auth` names no issuer",
    ],
  ],
  [
    "a rule about metadata that no provider has gets a warning",
    "access_rules: [{name: r, at: [llm], condition: provider.metadata.tier == 'gold', action: deny}]",
    ["5:48: access_rules[0].condition: warning: column 27: no provider has `metadata.tier`"],
  ],
  [
    "a capability that does not exist is refused, with the one that was meant",
    "profiles: [{name: p, require_caps: [tools, visoin, levitation]}]",
    [
      "5:44: profiles[0].require_caps[1]: is not the name of a capability; did you mean `vision`?",
      "5:52: profiles[0].require_caps[2]: is not the name of a capability",
    ],
  ],
  [
    "capabilities that no channel has together get a warning",
    "profiles: [{name: p, require_caps: [audio_input, tool_errors]}]",
    [
      "5:36: profiles[0].require_caps: warning: no channel of any provider has all of them: every request with this profile is refused",
    ],
  ],
];

function nestedLoops(depth: number): string {
  let body = "input_tokens";
  for (let at = 0; at < depth; at++) body = `[1, 2, 3, 4].map(i${at}, ${body})`;
  return `${body}.size()`;
}

for (const [behaviour, text, problems] of FAULTS) {
  test(behaviour, async () => {
    const compiled = await compile(`${GOVERNED}${text}`);
    const lines = linesOf(compiled);
    assert.equal(compiled.kind, problems.some((line) => !line.includes(": warning: ")) ? "refused" : "compiled");
    assert.deepEqual(
      lines.map((line, at) => line.slice(0, problems[at]?.length)),
      problems,
      lines.join("\n"),
    );
  });
}

test("without auth a rule about callers is reported, and one about models is not", async () => {
  const rules = `${PROVIDERS}access_rules:
  - {name: a, condition: key.name == 'x', action: deny}
  - {name: b, at: [llm], condition: model == 'gpt-4', action: deny}
`;
  assert.deepEqual(await problemsOf(rules), [
    "5:26: access_rules[0].condition: warning: reads `key`, which is empty for every caller: without `auth` every caller is anonymous",
  ]);
});

test("a rule about metadata that one provider has is not reported", async () => {
  assert.deepEqual(
    await problemsOf(`providers:
  - {preset: openai, metadata: {tier: gold}}
  - {preset: anthropic}
default_provider: openai
access_rules: [{name: r, at: [llm], condition: has(provider.metadata.tier) && provider.metadata.tier == 'gold', action: deny}]
`),
    [],
  );
});

test("problems of a provider are reported beside those of the rules that name it", async () => {
  assert.deepEqual(
    await problemsOf(
      "providers: [{preset: nosuch}]\naccess_rules: [{name: r, at: [llm], condition: provider == 'nosuch', action: deny}]",
    ).then((lines) => lines.map((line) => line.split(":")[2])),
    [" providers[0].preset"],
  );
});

test("a deployment whose rules cannot be evaluated is refused", async () => {
  const text = `access_rules: [{name: r, condition: 'true', action: deny}]
profiles: [{name: p, budget: b, access_rules: [{name: r, condition: 'true', action: deny}]}]
budgets: [{name: b, limit: 1, cost: {type: CEL, cel: '1'}}]
auth: {virtual_keys: true}
`;
  const compiled = await compile(text, { isUnprepared: true });
  assert.equal(compiled.kind, "refused");
  assert.deepEqual(
    linesOf(compiled).map((line) => line.replace(/^\d+:\d+: /, "")),
    ["budgets[0].cost.cel", "access_rules", "profiles[0].access_rules"].map(
      (path) => `${path}: this cannot be checked, since the rule engine is not loaded`,
    ),
  );
});
