/** Layers, order, actions and errors of access rules: decision tables. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AccessRule, Verdict } from "../../../../src/server/core/policy/index.ts";
import { llmVariables, mcpVariables } from "../../../../src/server/core/policy/variables/index.ts";
import { atLlm, caller, chat, policiesOf, rule } from "./rules.ts";

/** A rule as one letter: allow, deny, or an error that fails open or closed; a lower-case letter does not match. */
const RULES: Readonly<Record<string, Partial<AccessRule> & { condition: string }>> = {
  A: { condition: "provider == provider", action: "allow" },
  D: { condition: "provider == provider", action: "deny" },
  a: { condition: 'model == "none"', action: "allow" },
  d: { condition: 'model == "none"', action: "deny" },
  O: { condition: 'key.metadata.absent == "x"', on_error: "fail_open" },
  C: { condition: 'key.metadata.absent == "x"', on_error: "fail_closed" },
};

const listOf = (letters: string, layer: string): readonly AccessRule[] =>
  [...letters].map((letter, at) => {
    const { condition, ...more } = RULES[letter] ?? { condition: "false" };
    return atLlm(condition, { name: `${layer}${at}${letter}`, ...more });
  });

const verdictOf = (deployment: string, profile: string): Verdict =>
  policiesOf({
    access_rules: listOf(deployment, "m"),
    profiles: [{ name: "p", access_rules: listOf(profile, "p") }],
  })
    .of("p")
    .decide("llm", chat);

/** Returns a text such as `deny by m0D, after m1A; skipped m0O`. */
function verdictText(verdict: Verdict): string {
  const by = verdict.kind === "allow" ? "" : ` by ${verdict.by.rule}`;
  const decisions = verdict.decisions.map((one) => one.rule).join(" ");
  const skipped = verdict.skipped.map((one) => one.rule).join(" ");
  return `${verdict.kind}${by}${decisions === "" ? "" : `; decided ${decisions}`}${skipped === "" ? "" : `; skipped ${skipped}`}`;
}

const DECIDED: readonly (readonly [deployment: string, profile: string, verdict: string])[] = [
  ["", "", "allow"],
  ["ad", "ad", "allow"],
  ["D", "", "deny by m0D; decided m0D"],
  ["D", "A", "deny by m0D; decided m0D"],
  ["A", "", "allow; decided m0A"],
  ["A", "D", "deny by p0D; decided m0A p0D"],
  ["A", "A", "allow; decided m0A p0A"],
  ["AD", "", "allow; decided m0A"],
  ["DA", "A", "deny by m0D; decided m0D"],
  ["dA", "aD", "deny by p1D; decided m1A p1D"],
  ["a", "D", "deny by p0D; decided p0D"],
  ["a", "AD", "allow; decided p0A"],
  ["C", "A", "error by m0C"],
  ["AC", "", "allow; decided m0A"],
  ["CA", "", "error by m0C"],
  ["A", "C", "error by p0C; decided m0A"],
  ["O", "", "allow; skipped m0O"],
  ["OD", "A", "deny by m1D; decided m1D; skipped m0O"],
  ["OA", "OD", "deny by p1D; decided m1A p1D; skipped m0O p0O"],
  ["O", "C", "error by p0C; skipped m0O"],
  ["d", "OA", "allow; decided p1A; skipped p0O"],
];

test("the deployment's list is mandatory, an allow ends only its own list, and the first match of a list wins", () => {
  for (const [deployment, profile, verdict] of DECIDED) {
    assert.equal(verdictText(verdictOf(deployment, profile)), verdict, `${deployment} | ${profile}`);
  }
});

test("for any lists the verdict matches a literal implementation of the specification", () => {
  const letters = fc.string({ unit: fc.constantFrom(...Object.keys(RULES)), maxLength: 4 });
  fc.assert(
    fc.property(letters, letters, (deployment, profile) => {
      const list = (text: string): string => [...text].find((letter) => "ADC".includes(letter)) ?? "";
      const mandatory = list(deployment);
      const own = mandatory === "D" || mandatory === "C" ? mandatory : list(profile);
      const expected = own === "D" ? "deny" : own === "C" ? "error" : "allow";
      assert.equal(verdictOf(deployment, profile).kind, expected);
    }),
    { numRuns: 300 },
  );
});

test("a profile only narrows: none of its rules allows what the deployment denies", () => {
  const letters = fc.string({ unit: fc.constantFrom(...Object.keys(RULES)), maxLength: 3 });
  fc.assert(
    fc.property(letters, letters, (deployment, profile) => {
      const without = verdictOf(deployment, "").kind;
      if (without !== "allow") assert.equal(verdictOf(deployment, profile).kind, without);
    }),
    { numRuns: 300 },
  );
});

test("a verdict has what the refusal and the record need", () => {
  const policies = policiesOf({
    access_rules: [
      atLlm('key.metadata.absent == "x"', { name: "open", on_error: "fail_open", controls: ["c-0"] }),
      atLlm('model.startsWith("gpt-")', { name: "eu only", message: "Use an EU model.", controls: ["c-1", "c-2"] }),
    ],
  });
  const deployment = { kind: "deployment" };
  const by = { rule: "eu only", layer: deployment, action: "deny", controls: ["c-1", "c-2"] };
  const detail = '`key.metadata` has no key "absent"';
  assert.deepEqual(policies.of(undefined).decide("llm", chat), {
    kind: "deny",
    code: "policy_denied",
    message: "Use an EU model.",
    by,
    decisions: [by],
    skipped: [{ rule: "open", layer: deployment, controls: ["c-0"], error: "missing_key", detail }],
  });
});

test("an error refuses with a text that names the rule and nothing of the request", () => {
  const verdict = policiesOf({
    profiles: [{ name: "p", access_rules: [atLlm("int(model) > 1", { name: "count", controls: ["c"] })] }],
  })
    .of("p")
    .decide("llm", chat);
  assert.deepEqual(verdict, {
    kind: "error",
    code: "policy_error",
    message: "rule count could not be evaluated",
    by: {
      rule: "count",
      layer: { kind: "profile", profile: "p" },
      controls: ["c"],
      error: "other",
      detail: "the text is no int",
    },
    decisions: [],
    skipped: [],
  });
});

test("a deny rule without a message, or with an empty one, is named in the refusal", () => {
  for (const message of [{}, { message: "" }]) {
    const verdict = policiesOf({ access_rules: [atLlm("true", { name: "no gpt", ...message })] })
      .of(undefined)
      .decide("llm", chat);
    assert.equal(verdict.kind === "deny" && verdict.message, "denied by rule no gpt");
  }
});

test("a condition with a non-boolean value is an error", () => {
  const access = policiesOf({ access_rules: [rule("args.flag", { at: ["mcp"] })] }).of(undefined);
  const call = (flag: boolean | string) =>
    access.decide("mcp", mcpVariables(caller, { server: "s", method: "tools/call", name: "t", args: { flag } }));
  assert.equal(call(true).kind, "deny");
  assert.equal(call(false).kind, "allow");
  const verdict = call("yes");
  assert.ok(verdict.kind === "error" && verdict.by.error === "type");
});

test("an exhausted cost limit is an error like any other", () => {
  const tags = Array.from({ length: 3_000 }, (_, at) => [`t${at}`, "x"] as const);
  const rich = { ...chat, key: { name: "k", metadata: Object.fromEntries(tags) } };
  const bomb = atLlm("key.metadata.all(a, key.metadata.all(b, a + b != model)) || true", { name: "bomb" });
  const verdict = policiesOf({ access_rules: [bomb] })
    .of(undefined)
    .decide("llm", rich);
  assert.ok(verdict.kind === "error" && verdict.by.error === "cost");
});

test("each failover candidate is decided separately", () => {
  const access = policiesOf({ access_rules: [atLlm('provider.metadata["region"] != "eu"')] }).of(undefined);
  const at = (region: string) =>
    access.decide(
      "llm",
      llmVariables(caller, {
        model: "m",
        upstreamModel: "m",
        provider: { name: "p", metadata: { region } },
        route: "r",
      }),
    );
  assert.equal(at("eu").kind, "allow");
  assert.equal(at("us").kind, "deny");
});

test("a caller without a profile, or with one without rules, has the deployment's rules alone", () => {
  const policies = policiesOf({
    access_rules: [atLlm("true")],
    profiles: [{ name: "bare" }, { name: "own", access_rules: [atLlm('model == "x"')] }],
  });
  assert.equal(policies.of("bare"), policies.of(undefined));
  assert.equal(policies.of("unknown"), policies.of(undefined));
  assert.deepEqual(policies.of(undefined).count, { llm: 1, mcp: 0, a2a: 0 });
  assert.deepEqual(policies.of("own").count, { llm: 2, mcp: 0, a2a: 0 });
});

test("the rules are listed in evaluation order", () => {
  const { rules } = policiesOf({
    access_rules: [atLlm("true", { name: "a" })],
    profiles: [{ name: "p", access_rules: [{ ...atLlm("true", { name: "b" }), at: ["mcp", "a2a"] }] }],
  });
  assert.deepEqual(
    rules.map((one) => [one.layer.kind, one.rule.name, one.hops]),
    [
      ["deployment", "a", ["llm"]],
      ["profile", "b", ["mcp", "a2a"]],
    ],
  );
});

test("a request that matches no rule allocates nothing", () => {
  const access = policiesOf({ access_rules: listOf("adad", "m") }).of(undefined);
  assert.equal(access.decide("llm", chat), access.decide("llm", chat));
});
