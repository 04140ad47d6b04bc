/** Cost limits of expressions: expensive ones are refused at load or stopped at run time, and nothing absorbs that. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  compileExpression,
  DEFAULT_COST_LIMIT,
  DYN,
  listOf,
  mapOf,
  STRING,
} from "../../../../src/server/core/cel/index.ts";
import { cpuMs } from "../../../support/cpu-time.ts";
import { answer, evaluated, expressionOf } from "./evaluating.ts";

const VARIABLES = { model: STRING, tags: listOf(STRING), args: mapOf(STRING, DYN) };

const TEN = "[0,1,2,3,4,5,6,7,8,9]";

const nested = (depth: number): string => (depth === 0 ? "tags" : `${TEN}.map(x${depth}, ${nested(depth - 1)})`);

test("loops over literal lists whose product exceeds the limit are refused at load", () => {
  const bare = compileExpression(
    `${TEN}.all(a, ${TEN}.all(b, ${TEN}.all(c, ${TEN}.all(d, ${TEN}.all(e, a > tags.size())))))`,
    {
      variables: VARIABLES,
      result: "bool",
    },
  );
  assert.equal(compileExpression(`${nested(6)}.size() > 0`, { variables: VARIABLES, result: "bool" }).kind, "refused");
  assert.ok(bare.kind === "refused");
  assert.match(bare.problems[0]?.message ?? "", /^costs up to \d+ units, at most 100000 are allowed/);
});

test("a static bound is reported if the text alone determines it", () => {
  const bounds: readonly (readonly [source: string, bound: number | undefined])[] = [
    ['model == "a" && model.startsWith("b")', 8],
    ['model in ["a", "b"] && args.x == 1', undefined],
    ["tags.size() in [1, 2, 3]", undefined],
    ["[1, 2, 3].all(x, x > 0)", 1],
    ["[1, 2, 3].all(x, x > tags.size())", 21],
    ["tags.exists(t, t == model)", undefined],
    ['model + "a" == "b"', undefined],
  ];
  for (const [source, bound] of bounds) {
    assert.equal(expressionOf(source, { variables: VARIABLES }).costBound, bound, source);
  }
});

const long = "x".repeat(200_000);
const many = Array.from({ length: 3_000 }, (_, at) => `tag-${at}`);
const chain = (step: string, times: number): string => `["ab"]${`.map(a, ${step})`.repeat(times)}`;

const BOMBS: readonly string[] = [
  "lists.range(tags.size() * 1000000000).size() > 0",
  "lists.range(tags.size()).map(a, lists.range(a)).size() > 0",
  "tags.all(a, tags.all(b, tags.all(c, a != b || b != c || a == c)))",
  `${chain("a + a", 60)}[0].size() > 0`,
  `${chain("[a, a]", 60)} == ${chain("[a, a]", 60)}`,
  `${chain("[a, a]", 60)}.flatten(100).size() > 0`,
  `"%s".format([${chain("[a, a]", 60)}]) == ""`,
  `lists.range(2000).map(a, model.replace("x", model)).size() > 0`,
  'model.replace("", model) == ""',
  'tags.all(t, model.contains(t + "!") || true)',
  'tags.all(t, model.matches("(a|b|x)*y" + t) || true)',
  'model.matches("(x+x+)+y")',
  'model.matches("(.{0,300}q|.{0,200}w)z")',
  "model.matches(args.pattern)",
  "model.matches(args.classes)",
  'tags.all(t, model.split("").size() > 0)',
  "tags.map(t, tags).flatten().distinct().size() > 0",
  "tags.map(a, tags.map(b, a + b)).flatten().sort().size() > 0",
  "sets.equivalent(tags, tags)",
  "tags.map(t, [t]).distinct().size() > 0",
  "args.deep == args.deep2",
];

test("an expensive expression ends in an error within milliseconds", (context) => {
  const nest = (depth: number): unknown => JSON.parse(`${"[".repeat(depth)}1${"]".repeat(depth)}`);
  const input = {
    model: long,
    tags: many,
    args: { deep: nest(50_000), deep2: nest(50_000), pattern: "a{1000}".repeat(140), classes: "\\pL".repeat(300) },
  };
  for (const source of BOMBS) {
    const expression = expressionOf(source, { variables: VARIABLES });
    const begun = cpuMs();
    const outcome = expression.evaluate(input);
    const took = cpuMs() - begun;
    context.diagnostic(`${took.toFixed(1).padStart(7)} ms ${source.slice(0, 70)}`);
    const kind = outcome.kind === "error" ? outcome.error.kind : String(outcome.value);
    assert.ok(["cost", "other"].includes(kind), `${source}: ${kind}`);
    // Generous, since the machine may be busy.
    assert.ok(took < 1_000, `${source}: ${took} ms`);
  }
});

test("an exhausted cost budget is an error that no operator absorbs", () => {
  const input = { tags: many, model: "m", args: {} };
  const bomb = "tags.all(a, tags.all(b, a != model))";
  for (const source of [`${bomb} || true`, `true && (${bomb} || true)`, `!(${bomb} && false)`]) {
    const outcome = evaluated(source, input, { variables: VARIABLES });
    assert.ok(outcome.kind === "error" && outcome.error.kind === "cost", source);
  }
  assert.equal(answer(`true || ${bomb}`, input, { variables: VARIABLES }), true, "what is not asked costs nothing");
});

test("the limit can be set and is exact to the step", () => {
  const source = "tags.all(t, t != model)";
  const input = { tags: many.slice(0, 100), model: "m", args: {} };
  const cost = 5 + 100 * 4;
  assert.equal(answer(source, input, { variables: VARIABLES, costLimit: cost }), true);
  assert.equal(answer(source, input, { variables: VARIABLES, costLimit: cost - 1 }), "error: cost");
  assert.ok(cost < DEFAULT_COST_LIMIT);
});
