/** Rules that can never match or are never reached are reported and not refused. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { KnownNames } from "../../../../src/server/core/policy/index.ts";
import { atLlm, problemsOf, rule } from "./rules.ts";

const KNOWN: KnownNames = {
  providers: ["openai", "azure-eu", "azure-us"],
  servers: ["search"],
  peers: ["planner"],
  models: ["gpt-*", "claude-sonnet"],
  issuers: ["corp"],
};

const NEVER = "the rule never matches";

const WARNED: readonly (readonly [condition: string, at: "llm" | "mcp" | "a2a", ...warnings: string[]])[] = [
  ["false", "llm", `is always false: ${NEVER}`],
  ['model == "a" && model == "b"', "llm", `is always false: ${NEVER}`],
  ["1 > 2 && provider == provider", "llm", `is always false: ${NEVER}`],
  ['provider == "opnai"', "llm", `column 13: there is no provider \`opnai\`, did you mean \`openai\`?: ${NEVER}`],
  ['provider.name == "nope"', "llm", `column 18: there is no provider \`nope\`: ${NEVER}`],
  ['provider.startsWith("azure-")', "llm"],
  ['provider.startsWith("aws-")', "llm", `column 21: no provider begins with \`aws-\`: ${NEVER}`],
  ['provider in ["openai", "nope"]', "llm", "column 13: there is no provider `nope`"],
  ['provider == "nope" || model.startsWith("gpt-")', "llm", "column 13: there is no provider `nope`"],
  ['!(provider == "nope")', "llm", "column 15: there is no provider `nope`"],
  ['model == "gpt-99"', "llm"],
  ['model.startsWith("gpt-4")', "llm"],
  ['model.startsWith("g")', "llm"],
  ['model == "llama"', "llm", `column 10: there is no routed model \`llama\`: ${NEVER}`],
  ['server == "serach"', "mcp", `column 11: there is no MCP server \`serach\`, did you mean \`search\`?: ${NEVER}`],
  ['peer == "nobody"', "a2a", `column 9: there is no agent \`nobody\`: ${NEVER}`],
  ['role == "user"', "a2a", `column 9: there is no role \`user\`: ${NEVER}`],
  ['agent.issuer == "other"', "llm", `column 17: there is no issuer \`other\`: ${NEVER}`],
  ['key.name == "other"', "llm"],
];

test("a rule that can never match causes a warning that names the closest known name", () => {
  for (const [condition, at, ...warnings] of WARNED) {
    const expected = warnings.map((warning) => `access_rules.0.condition: ${warning}`);
    const found = problemsOf({ access_rules: [rule(condition, { at: [at] })] }, KNOWN, "warning");
    assert.deepEqual(found, expected, condition);
    assert.deepEqual(problemsOf({ access_rules: [rule(condition, { at: [at] })] }, KNOWN), []);
  }
});

test("unknown names do not appear in warnings", () => {
  const document = { access_rules: [atLlm('provider == "nope" && model == "llama"')] };
  assert.deepEqual(problemsOf(document, {}, "warning"), []);
});

test("a rule after one that always matches is unreachable, in its list and for its traffic types", () => {
  const always = atLlm("true", { name: "all" });
  const later = atLlm('model.startsWith("gpt-")');
  assert.deepEqual(problemsOf({ access_rules: [always, later] }, KNOWN, "warning"), [
    "access_rules.1.condition: is never reached: rule `all` before it always matches",
  ]);
  const everywhere = rule('key.name == "x"');
  const profiles = [{ name: "p", access_rules: [later] }];
  assert.deepEqual(problemsOf({ access_rules: [always, everywhere], profiles }, KNOWN, "warning"), []);
});

test("a rule that always matches causes no warning, since lists end that way", () => {
  assert.deepEqual(problemsOf({ access_rules: [rule("true")] }, KNOWN, "warning"), []);
});
