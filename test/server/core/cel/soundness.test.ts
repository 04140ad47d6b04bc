/**
 * Guarantees of the checker: an accepted expression without `dyn` has no type error at run time, and its value has the
 * inferred type. For any text: it is compiled or refused, and nothing throws.
 *
 * GATEWAY_FUZZ=20000 npm test -- test/server/core/cel/soundness.test.ts
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseSource } from "../../../../src/server/core/cel/cel-syntax.ts";
import { belongs } from "../../../../src/server/core/cel/cel-values.ts";
import { children, type Node } from "../../../../src/server/core/cel/expression-tree.ts";
import { compileExpression, INT, listOf, mapOf, STRING } from "../../../../src/server/core/cel/index.ts";
import { check } from "../../../../src/server/core/cel/type-check.ts";
import { randomFloor } from "../../../support/random-length.ts";

/** Expressions per property. */
const COUNT = Number(process.env["GATEWAY_FUZZ"] ?? 4_000);

const VARIABLES = { s: STRING, n: INT, l: listOf(STRING), m: mapOf(STRING, INT) };

const hasUnknown = (node: Node): boolean =>
  JSON.stringify(node.type).match(/"(dyn|param)"/) !== null || children(node).some(hasUnknown);

/** Expressions by intended type; `any` sometimes inserts one of another type. */
type Kind =
  | "expression"
  | "any"
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "strings"
  | "ints"
  | "map"
  | "time"
  | "span";

const { expression } = fc.letrec<Record<Kind, string>>((tie) => {
  const one = (name: Kind): fc.Arbitrary<string> =>
    fc.oneof({ weight: 30, arbitrary: tie(name) }, { weight: 1, arbitrary: tie("any") });
  const of = (...names: readonly Kind[]): fc.Arbitrary<readonly string[]> => fc.tuple(...names.map(one));
  const form = (text: string, ...names: readonly Kind[]): fc.Arbitrary<string> =>
    of(...names).map((parts) => parts.reduce((made, part, at) => made.replaceAll(`$${at}`, part), text));
  const either = (leaf: fc.Arbitrary<string>, ...more: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
    fc.oneof({ depthSize: "small", withCrossShrink: true }, leaf, ...more);
  const literals = (...texts: string[]) => fc.constantFrom(...texts);
  return {
    expression: either(tie("bool"), tie("int"), tie("string"), tie("strings"), tie("map"), tie("time"), tie("double")),
    any: fc.oneof(tie("bool"), tie("int"), tie("string"), tie("strings"), tie("double"), tie("uint")),
    bool: either(
      literals("true", "false"),
      form("($0 == $1)", "int", "int"),
      form("($0 != $1)", "string", "string"),
      form("($0 < $1)", "string", "string"),
      form("($0 >= $1)", "int", "double"),
      form("($0 && $1)", "bool", "bool"),
      form("($0 || $1)", "bool", "bool"),
      form("!$0", "bool"),
      form("($0 in $1)", "string", "strings"),
      form("($0 in $1)", "string", "map"),
      form("$0.exists(x, x == $1)", "strings", "string"),
      form("$0.all(y, y > $1)", "ints", "int"),
      form("$0.exists_one(x, x in m)", "strings"),
      form("$0.startsWith($1)", "string", "string"),
      form("$0.matches($1)", "string", "string"),
      form("sets.contains($0, $1)", "strings", "strings"),
      form("($0 > $1)", "time", "time"),
    ),
    int: either(
      literals("n", "0", "1", "-7", "9223372036854775807"),
      form("($0 + $1)", "int", "int"),
      form("($0 * $1)", "int", "int"),
      form("($0 / $1)", "int", "int"),
      form("($0 % $1)", "int", "int"),
      form("-$0", "int"),
      form("size($0)", "string"),
      form("$0.size()", "strings"),
      form("int($0)", "uint"),
      form("int($0)", "string"),
      form("$0[$1]", "map", "string"),
      form("$0[$1]", "ints", "int"),
      form("$0.indexOf($1)", "string", "string"),
      form("($0 ? $1 : $2)", "bool", "int", "int"),
      form("$0.getHours()", "span"),
      form("$0.getFullYear()", "time"),
    ),
    uint: either(literals("0u", "3u"), form("($0 - $1)", "uint", "uint"), form("uint($0)", "int")),
    double: either(literals("0.5", "-1e300"), form("($0 * $1)", "double", "double"), form("double($0)", "int")),
    string: either(
      literals("s", '""', '"a"', '"é😀"', '"["'),
      form("($0 + $1)", "string", "string"),
      form("string($0)", "int"),
      form("$0[$1]", "strings", "int"),
      form("$0.substring($1)", "string", "int"),
      form("$0.charAt($1)", "string", "int"),
      form("$0.replace($1, $2)", "string", "string", "string"),
      form("$0.join($1)", "strings", "string"),
      form("$0.trim().lowerAscii()", "string"),
      form("string($0)", "time"),
      form("$0.first()", "strings"),
      form('"%s and %d".format([dyn($0), $1])', "string", "int"),
    ),
    strings: either(
      literals("l", '["a", "b"]'),
      form("[$0, $1]", "string", "string"),
      form("($0 + $1)", "strings", "strings"),
      form("$0.map(x, x + $1)", "strings", "string"),
      form("$0.filter(x, x != $1)", "strings", "string"),
      form("$0.split($1)", "string", "string"),
      form("$0.sort()", "strings"),
      form("$0.sortBy(x, x.size())", "strings"),
      form("$0.distinct().reverse()", "strings"),
      form("$0.map(k, k)", "map"),
    ),
    ints: either(
      literals("[1, 2, 3]", "lists.range(4)"),
      form("[$0]", "int"),
      form("$0.map(z, z > 1, z * $1)", "ints", "int"),
      form("[$0, $1].flatten()", "ints", "ints"),
      form("$0.slice($1, $2)", "ints", "int", "int"),
    ),
    map: either(literals("m"), form("{$0: $1}", "string", "int"), form('{"k": $0, "j": $1}', "int", "int")),
    time: either(
      literals("timestamp(0)", 'timestamp("2024-02-29T12:00:00Z")'),
      form("($0 + $1)", "time", "span"),
      form("timestamp($0)", "int"),
    ),
    span: either(literals('duration("90m")'), form("($0 - $1)", "time", "time")),
  };
});

const input = fc.record({
  s: fc.string({ unit: "binary", maxLength: 12 }),
  n: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  l: fc.array(fc.string({ maxLength: 4 }), { maxLength: 4 }),
  m: fc.dictionary(fc.string({ maxLength: 2 }), fc.bigInt({ min: -9n, max: 9n }), { maxKeys: 3 }),
});

const report = { verbose: 1, endOnFailure: true } as const;

test("an expression that is accepted without dyn has no type error and a value of its type", (context) => {
  let [accepted, refused, unknown] = [0, 0, 0];
  fc.assert(
    fc.property(expression, input, (source, variables) => {
      const compiled = compileExpression(source, { variables: VARIABLES, result: "any" });
      const parsed = parseSource(source);
      if (compiled.kind === "refused" || parsed.kind === "refused") {
        refused++;
        return;
      }
      const { node } = check(parsed.tree, VARIABLES);
      if (hasUnknown(node)) unknown++;
      else accepted++;
      const outcome = compiled.expression.evaluate(variables);
      if (outcome.kind === "value") assert.ok(belongs(outcome.value, compiled.expression.type), source);
      else if (!hasUnknown(node)) assert.notEqual(outcome.error.kind, "type", source);
      const { constant, costBound } = compiled.expression;
      if (constant !== undefined && outcome.kind === "value" && !Number.isNaN(constant)) {
        assert.deepEqual(outcome.value, constant, source);
      }
      assert.ok(costBound === undefined || costBound > 0);
    }),
    { ...report, numRuns: COUNT },
  );
  context.diagnostic(`${accepted} accepted without dyn, ${unknown} with, ${refused} refused`);
  assert.ok(
    accepted > randomFloor(COUNT / 4) && refused > randomFloor(COUNT / 200),
    `${accepted} accepted, ${refused} refused`,
  );
});

test("an expression within its static bound is never stopped by a limit of that size", () => {
  fc.assert(
    fc.property(expression, input, (source, variables) => {
      const free = compileExpression(source, { variables: VARIABLES, result: "any" });
      if (free.kind === "refused" || free.expression.costBound === undefined) return;
      const costLimit = free.expression.costBound;
      const bounded = compileExpression(source, { variables: VARIABLES, result: "any", costLimit });
      assert.ok(bounded.kind === "compiled", source);
      const outcome = bounded.expression.evaluate(variables);
      assert.ok(outcome.kind === "value" || outcome.error.kind !== "cost", source);
    }),
    { ...report, numRuns: COUNT / 4 },
  );
});

const TOKENS = [
  ..."()[]{}.,:?!+-*/%<>=&|'\"`\\ \n",
  ...[
    "&&",
    "||",
    "==",
    "in",
    "has(",
    ".exists(x,",
    ".map(x,",
    "s",
    "n",
    "l",
    "m",
    "1",
    "2u",
    "0.5",
    '"a"',
    "true",
    "null",
  ],
  ...[
    "sets.",
    "lists.",
    "contains",
    "type(",
    "r'",
    "b'",
    "//",
    "x",
    "😀",
    "\ud800",
    "__proto__",
    "constructor",
    ".@result",
  ],
];

test("any text is compiled or refused, compiled ones evaluate, and nothing throws", () => {
  const soup = fc.array(fc.constantFrom(...TOKENS), { maxLength: 40 }).map((tokens) => tokens.join(""));
  const text = fc.oneof(
    soup,
    fc.string({ unit: "binary", maxLength: 60 }),
    expression.map((one) => one.slice(1)),
  );
  fc.assert(
    fc.property(text, input, (source, variables) => {
      const compiled = compileExpression(source, { variables: VARIABLES, result: "any" });
      if (compiled.kind === "refused") {
        assert.ok(compiled.problems.length > 0);
        for (const { line, column, message } of compiled.problems) assert.ok(line > 0 && column > 0 && message !== "");
      } else {
        const outcome = compiled.expression.evaluate(variables);
        assert.ok(outcome.kind === "value" || outcome.error.message !== "");
      }
    }),
    { ...report, numRuns: COUNT },
  );
});
