/**
 * The table of variables by traffic type in the specification: each variable where it is declared, with its type, and
 * nowhere else.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { HOPS, type Hop } from "../../../../src/server/core/policy/index.ts";
import {
  a2aVariables,
  callerVariables,
  llmVariables,
  mcpVariables,
} from "../../../../src/server/core/policy/variables/index.ts";
import { atLlm, caller, chat, policiesOf, problemsOf, rule } from "./rules.ts";

/** Conditions that are true for the requests below, at least one per variable of the table. */
const TABLE: readonly (readonly [condition: string, ...hops: Hop[]])[] = [
  ['key.name == "ci"', "llm", "mcp", "a2a"],
  ['key.metadata["team"] == "search"', "llm", "mcp", "a2a"],
  ['key.metadata.team in ["search"]', "llm", "mcp", "a2a"],
  ['agent.name == "" && agent.issuer == "" && agent.subject == ""', "llm", "mcp", "a2a"],
  ['user.name == "" && user.issuer == "" && user.subject == "" && user.email == ""', "llm", "mcp", "a2a"],
  ['model.startsWith("gpt-")', "llm"],
  ['provider == "openai"', "llm"],
  ["provider.name == provider", "llm"],
  ['provider.metadata.region == "eu"', "llm"],
  ['provider.metadata["region"] == "eu"', "llm"],
  ["has(provider.metadata.region)", "llm"],
  ['"region" in provider.metadata', "llm"],
  ['route == "chat_completions"', "llm"],
  ['server == "search"', "mcp"],
  ['name == "query"', "mcp"],
  ['args.limit <= 10 && args.deep.list[0] == "a"', "mcp"],
  ['method in ["tools/call", "SendMessage"]', "mcp", "a2a"],
  ['peer == "planner"', "a2a"],
  ['role == "ROLE_USER"', "a2a"],
  ['task_id == "t-1"', "a2a"],
  ['context_id == ""', "a2a"],
  [
    'parts.exists(p, p.kind == "file" && p.url.startsWith("https://") && p.media_type != "" && p.filename == "")',
    "a2a",
  ],
  ['parts.all(p, p["kind"] in ["text", "file"])', "a2a"],
  ['sets.contains(["a", "b"], ["a"]) && "A".lowerAscii() == "a" && lists.range(2).size() == 2', "llm", "mcp", "a2a"],
];

const tool = mcpVariables(caller, {
  server: "search",
  method: "tools/call",
  name: "query",
  args: { limit: 5, deep: { list: ["a"] } },
});

const message = a2aVariables(caller, {
  peer: "planner",
  method: "SendMessage",
  role: "ROLE_USER",
  taskId: "t-1",
  parts: [{ kind: "text" }, { kind: "file", url: "https://files.example/a", media_type: "image/png" }],
});

test("every variable of the table is declared for its traffic types, and a rule over it matches there", () => {
  for (const [condition, ...hops] of TABLE) {
    const access = policiesOf({ access_rules: [rule(condition, { at: hops })] }).of(undefined);
    const verdicts = {
      llm: access.decide("llm", chat),
      mcp: access.decide("mcp", tool),
      a2a: access.decide("a2a", message),
    };
    for (const hop of HOPS)
      assert.equal(verdicts[hop].kind, hops.includes(hop) ? "deny" : "allow", `${condition} at ${hop}`);
  }
});

test("a rule for a traffic type that does not declare its variable is refused", () => {
  for (const [condition, ...hops] of TABLE) {
    for (const hop of HOPS.filter((one) => !hops.includes(one))) {
      assert.ok(problemsOf({ access_rules: [rule(condition, { at: [hop] })] }).length > 0, `${condition} at ${hop}`);
    }
  }
});

test("a rule without `at` that reads a variable of some traffic types is refused with the `at` to add", () => {
  assert.deepEqual(problemsOf({ access_rules: [rule('model == "gpt-5"')] }), [
    "access_rules.0.condition: column 1: `model` is declared only at llm, but a rule without `at` applies to llm, mcp and a2a; say `at: [llm]`",
  ]);
  assert.deepEqual(problemsOf({ access_rules: [rule('method == "tools/call"')] }), [
    "access_rules.0.condition: column 1: `method` is declared only at mcp and a2a, but a rule without `at` applies to llm, mcp and a2a; say `at: [mcp, a2a]`",
  ]);
  assert.deepEqual(problemsOf({ access_rules: [rule('model == "x" || server == "y"')] }), [
    "access_rules.0.condition: column 17: `server` is declared only at mcp, but a rule without `at` applies to llm, mcp and a2a",
    "access_rules.0.condition: column 1: `model` is declared only at llm, but a rule without `at` applies to llm, mcp and a2a",
  ]);
});

test("a rule for several traffic types gets the names of those that declare its variables", () => {
  assert.deepEqual(problemsOf({ access_rules: [rule('provider == "a"', { at: ["llm", "mcp"] })] }), [
    "access_rules.0.condition: column 1: `provider` is declared only at llm, but this rule applies to llm and mcp; say `at: [llm]`",
  ]);
  assert.deepEqual(problemsOf({ access_rules: [rule('name == "a"', { at: ["a2a"] })] }), [
    "access_rules.0.condition: column 1: `name` is declared only at mcp, but this rule applies to a2a",
  ]);
});

test("other errors are reported once, whatever the number of traffic types", () => {
  assert.deepEqual(problemsOf({ access_rules: [rule("key.name == 1")] }), [
    "access_rules.0.condition: column 10: `==` compares values of one type, found string and int",
  ]);
  assert.deepEqual(problemsOf({ profiles: [{ name: "p" }, { name: "q", access_rules: [atLlm("model\n  .size")] }] }), [
    "profiles.1.access_rules.0.condition: line 2, column 3: a value of type string has no field `size`",
  ]);
});

test("a part that always fails is refused, since it would refuse every request", () => {
  assert.deepEqual(problemsOf({ access_rules: [atLlm('model.matches("[")')] }), [
    "access_rules.0.condition: column 6: this part always fails: the pattern is not a regular expression of RE2",
  ]);
});

test("an attribute that a caller does not have is empty and never fails", () => {
  const nobody = 'key.name == "" && size(key.metadata) == 0 && agent.subject == "" && !has(user.email)';
  const someone = 'has(user.email) && user.email.endsWith("@example.com") && user.subject == "u1" && key.name == ""';
  const bot = 'agent.name == "bot" && agent.issuer == "corp" && agent.subject == "a1" && user.name == ""';
  const access = policiesOf({ access_rules: [rule(nobody), rule(someone), rule(bot)] }).of(undefined);
  const request = { model: "m", upstreamModel: "m-1", provider: { name: "p" }, route: "r" };
  for (const [at, who] of [
    callerVariables({ key: undefined, agent: undefined, user: undefined }),
    callerVariables({
      key: undefined,
      agent: undefined,
      user: { name: "U", issuer: "corp", subject: "u1", email: "u@example.com" },
    }),
    callerVariables({ key: undefined, agent: { name: "bot", issuer: "corp", subject: "a1" }, user: undefined }),
  ].entries()) {
    const verdict = access.decide("llm", llmVariables(who, request));
    assert.equal(verdict.kind, "deny", `caller ${at}`);
  }
});
