/** Texts that an expression compares with record fields, also inside loops, and with map keys. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { compileExpression, DOUBLE, listOf, mapOf, recordOf, STRING } from "../../../../src/server/core/cel/index.ts";

const ITEM = recordOf("item", { kind: STRING });
const VARIABLES = { items: listOf(ITEM), item: ITEM, scores: mapOf(STRING, DOUBLE), name: STRING };

const CASES: readonly (readonly [source: string, ...mentions: string[]])[] = [
  ['items.exists(i, i.kind == "a")', "item.kind equals a 27"],
  ['items.all(i, items.exists(j, j.kind != "a" && "b" == j.kind))', "item.kind equals b 47"],
  ['item.kind in ["a", "b"] || item.kind.startsWith("c")', "item.kind equals a,b 14", "item.kind starts c 49"],
  ['"a" in scores && scores["b"] > 0.5', "scores key a 1", "scores key b 25"],
  ["scores.a > 0.5 || has(scores.b)", "scores key a 7", "scores key b 19"],
  ['name == "a" && item.kind == name'],
];

test("mentions are reported with their positions", () => {
  for (const [source, ...mentions] of CASES) {
    const compiled = compileExpression(source, { variables: VARIABLES, result: "bool" });
    assert.equal(compiled.kind, "compiled", source);
    if (compiled.kind !== "compiled") continue;
    const found = compiled.expression.mentions.map(
      ({ subject, how, texts, column }) => `${subject} ${how} ${texts} ${column}`,
    );
    assert.deepEqual(found, mentions, source);
  }
});
