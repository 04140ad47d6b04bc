import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readDeployment } from "../../../src/server/core/config/index.ts";
import { loadRules, mayHoldRules } from "../../../src/server/snapshot/index.ts";
import { hasRules } from "../../../src/server/snapshot/load-rules.ts";

const NOTHING = { kind: "problem", message: "there are no secrets here" } as const;

function holdsRules(text: string): boolean {
  const references = { env: () => "CEL", secret: () => NOTHING, file: () => NOTHING };
  const { document } = readDeployment({ name: "d", text }, references);
  return document !== undefined && hasRules(document);
}

const RULE = "{name: r, condition: 'true', action: deny}";
const BUDGET = "name: b, limit: 1";

const WITH_RULES: readonly string[] = [
  `access_rules: [${RULE}]`,
  `{"access_rules": [${RULE}]}`,
  `"access\\u005frules": [${RULE}]`,
  `? access_rules\n: [${RULE}]`,
  `profiles: [{name: p, access_rules: [${RULE}]}]`,
  `budgets: [{${BUDGET}, cost: {type: CEL, cel: '1'}}]`,
  `budgets: [{${BUDGET}, cost: {type: "\${TYPE}", cel: '1'}}]`,
  `budgets: [{${BUDGET}, cost: {type: CEL, "c\\x65l": '1'}}]`,
];

for (const text of WITH_RULES) {
  test(`the rule engine is loaded for ${JSON.stringify(text)}`, async () => {
    assert.ok(holdsRules(text));
    assert.ok(mayHoldRules(text));
    assert.notEqual(await loadRules(["{}", text]), undefined);
  });
}

test("the rule engine is not loaded for a deployment without an expression", async () => {
  const texts = [
    "{}",
    "providers: [{preset: openai, models: [gpt-*]}]",
    "auth: {virtual_keys: true}\nprofiles: [{name: p, budget: b}]\nbudgets: [{name: b, limit: 1}]",
  ];
  for (const text of texts) assert.ok(!mayHoldRules(text), text);
  assert.equal(await loadRules(texts), undefined);
  assert.ok(!texts.some(holdsRules));
});

test("however an expression is written, the engine is loaded for it", () => {
  // Each character of the key either literally or as an escape, in double quotes.
  const key = fc
    .tuple(...[..."access_rules"].map((letter) => fc.constantFrom(letter, `\\x${letter.charCodeAt(0).toString(16)}`)))
    .map((letters) => `"${letters.join("")}"`);
  const space = fc.constantFrom("", " ", "\n", "  ");
  fc.assert(
    fc.property(key, space, (written, before) => {
      const text = `{${before}${written}: [${RULE}]}`;
      assert.ok(holdsRules(text), text);
      assert.ok(mayHoldRules(text), text);
    }),
  );
});
