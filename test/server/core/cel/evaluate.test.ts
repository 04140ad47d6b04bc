/** Evaluation of expressions: values, kinds of error, the extension libraries, and caller data. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { DYN, INT, listOf, mapOf, recordOf, STRING, Uint } from "../../../../src/server/core/cel/index.ts";
import { answer, evaluated, expressionOf } from "./evaluating.ts";

const VARIABLES = { args: mapOf(STRING, DYN), model: STRING, n: INT, tags: listOf(STRING) };

const asked = (source: string, variables: Readonly<Record<string, unknown>>) =>
  answer(source, variables, { variables: VARIABLES });

test("each kind of error is distinguished", () => {
  const kinds: readonly (readonly [source: string, kind: string])[] = [
    ["args.absent == 1", "missing_key"],
    ["tags[3] == model", "missing_key"],
    ["tags[-1] == model", "missing_key"],
    ["{1: 2}[3] == 4", "missing_key"],
    ["args.text + 1 == 2", "type"],
    ["args.text", "value"],
    ["args.text && true", "type"],
    ["9223372036854775807 + n > 0", "overflow"],
    ["-9223372036854775808 - n > 0", "overflow"],
    ["0u - 1u == 0u", "overflow"],
    ["int(1e30) == n", "overflow"],
    ['timestamp("9999-12-31T23:59:59Z") + duration("1s") > timestamp(0)', "overflow"],
    ["n / 0 == 1", "division"],
    ["n % 0 == 1", "division"],
    ['int("x") == 1', "other"],
    ['model.matches("(")', "other"],
    ['timestamp(0).getHours("Mars/Olympus") == 1', "other"],
    ["tags.map(t, lists.range(n * 10000000)).size() > 0", "cost"],
  ];
  for (const [source, kind] of kinds) {
    const outcome = evaluated(
      source,
      { args: { text: "a" }, model: "m", n: 1n, tags: ["a"] },
      { variables: VARIABLES },
    );
    assert.equal(outcome.kind === "error" ? outcome.error.kind : "value", kind, source);
  }
});

test("a missing key is named if the expression names it, and no value is ever shown", () => {
  const outcome = evaluated('args["team"] == "a"', { args: { secret: "hunter2" } }, { variables: VARIABLES });
  assert.deepEqual(outcome.kind === "error" && outcome.error.message, '`args` has no key "team"');
  for (const source of ["args[model] == 1", "int(model) == 1", "model.matches(model)", "args.secret + 1 == 2"]) {
    const result = evaluated(source, { args: { secret: "((hunter2" }, model: "((hunter2" }, { variables: VARIABLES });
    assert.ok(result.kind === "error" && !result.error.message.includes("hunter2"), source);
  }
});

test("`&&`, `||`, `all` and `exists` absorb an error if the rest decides", () => {
  const input = { args: {}, tags: ["a", "b"], n: 0n, model: "b" };
  assert.equal(asked("args.x == 1 || true", input), true);
  assert.equal(asked("args.x == 1 && false", input), false);
  assert.equal(asked("args.x == 1 || false", input), "error: missing_key");
  assert.equal(asked("tags.exists(t, args.x == 1 || t == model)", input), true);
  assert.equal(asked("[0, 1].all(i, 1 / i > 5)", input), false);
  assert.equal(asked("tags.exists_one(t, args.x == t)", input), "error: missing_key");
  assert.equal(asked("true ? model : args.x", input), "b");
});

test("JSON numbers are doubles: compared as such, and converted before integer arithmetic", () => {
  const input = { args: { n: 3, half: 0.5, list: [1, 2], big: 2 ** 53 } };
  for (const source of ["args.n == 3", "args.n > 2", "args.n in [3]", "args.list[0] == 1", "int(args.n) + 1 == 4"]) {
    assert.equal(asked(source, input), true, source);
  }
  assert.equal(asked("args.n + 1 == 4", input), "error: type");
  assert.equal(asked("args.half * 2.0 == 1.0", input), true);
  assert.equal(asked("tags[args.half] == model", { ...input, tags: ["a"], model: "" }), "error: type");
});

test("only own properties of data are keys", () => {
  const input = { args: JSON.parse('{"__proto__": 1, "plain": {"a": null}}') as unknown };
  assert.equal(asked("args.constructor == 1", input), "error: missing_key");
  assert.equal(asked("has(args.toString)", input), false);
  assert.equal(asked('args["__proto__"] == 1', input), true);
  assert.equal(asked('"hasOwnProperty" in args', input), false);
  assert.equal(asked("args.plain.a == null", input), true);
});

test("a value that is not data is an error", () => {
  for (const foreign of [new Map(), new Date(0), () => 1, Symbol("x"), undefined]) {
    const outcome = evaluated("args.a == 1", { args: foreign }, { variables: VARIABLES });
    assert.equal(outcome.kind, "error");
  }
});

test("`has` of a declared field tests whether it has content, and of a map whether the key exists", () => {
  const variables = {
    user: recordOf("user", { email: STRING, tags: mapOf(STRING, STRING) }),
    args: mapOf(STRING, DYN),
  };
  const has = (source: string, user: object) => answer(source, { user, args: { empty: "" } }, { variables });
  assert.equal(has("has(user.email)", { email: "", tags: {} }), false);
  assert.equal(has("has(user.email)", { email: "a@b", tags: {} }), true);
  assert.equal(has("has(user.tags)", { email: "", tags: {} }), false);
  assert.equal(has("has(args.empty)", {}), true);
});

const LIBRARIES: readonly (readonly [source: string, value: unknown])[] = [
  ["lists.range(3)", [0n, 1n, 2n]],
  ["lists.range(0)", []],
  ["[1, 2, 3, 4].slice(1, 3)", [2n, 3n]],
  ["[1, 2].slice(2, 2)", []],
  ["[1].slice(0, 2)", "error: other"],
  ["[[1], [2, [3]]].flatten()", [1n, 2n, [3n]]],
  ["[[1], [2, [3]]].flatten(2)", [1n, 2n, 3n]],
  ["[1].flatten(-1)", "error: other"],
  ["[1, 2, 1, 2.0, 2u].distinct()", [1n, 2n]],
  ["[[1], [1], []].distinct()", [[1n], []]],
  ['["b", "a", "é", "😀", "z"].sort()', ["a", "b", "z", "é", "😀"]],
  ['[1, "a"].sort()', "error: type"],
  ["[3, 1, 2].sortBy(x, -x)", [3n, 2n, 1n]],
  ['["aa", "b"].sortBy(s, s.size())', ["b", "aa"]],
  ["[1, 2, 3].reverse()", [3n, 2n, 1n]],
  ['"a😀b".reverse()', "b😀a"],
  ["[1, 2].first()", 1n],
  ["[1, 2].last()", 2n],
  ["[].last()", "error: missing_key"],
  ["sets.contains([1, 2, 3], [2, 3.0])", true],
  ["sets.contains([1], [2])", false],
  ["sets.contains([], [])", true],
  ["sets.intersects([1, 2], [dyn(2u)])", true],
  ["sets.intersects([1], [])", false],
  ["sets.equivalent([1, 2, 2], [2, 1])", true],
  ["sets.equivalent([1], [1, 2])", false],
  ['"a,b,c".split(",", 2)', ["a", "b,c"]],
  ['"aaa".replace("a", "b", 2)', "bba"],
  ['"ab".replace("", "-")', "-a-b-"],
  ['"ab".replace("", "-", 1)', "-ab"],
  ['"tacocat".lastIndexOf("a", 3)', 1n],
  ['"a😀b".substring(1, 2)', "😀"],
  ['"a😀b".indexOf("b")', 2n],
  ['"  x\\u3000".trim()', "x"],
  ['"%s is %.1f".format(["x", 1.5])', "x is 1.5"],
  ['strings.quote("a\\nb")', '"a\\nb"'],
];

test("the strings, lists and sets libraries do what cel-go documents", () => {
  for (const [source, value] of LIBRARIES) assert.deepEqual(answer(source), value, source);
});

test("int has the range of 64 bits, and uint is a type of its own", () => {
  assert.equal(answer("9223372036854775806 + 1"), 2n ** 63n - 1n);
  assert.equal(answer("-9223372036854775808 / -1"), "error: overflow");
  assert.equal(answer("-(-9223372036854775808)"), "error: overflow");
  assert.deepEqual(answer("18446744073709551615u"), new Uint(2n ** 64n - 1n));
  assert.equal(answer("[1, 1u, 1.0].all(x, x == 1)"), true);
});

test("date parts follow the given zone, whatever the zone of the process", () => {
  const at = 'timestamp("2024-03-31T00:30:00Z")';
  assert.equal(answer(`${at}.getHours()`), 0n);
  assert.equal(answer(`${at}.getHours("Europe/Berlin")`), 1n);
  assert.equal(answer(`(${at} + duration("1h")).getHours("Europe/Berlin")`), 3n);
  assert.equal(answer(`${at}.getDayOfYear("-02:00")`), 89n);
  assert.equal(answer('timestamp("0001-01-01T00:00:00Z").getFullYear()'), 1n);
});

test("a loop variable shadows a declared one only inside its loop", () => {
  assert.equal(asked('["x"].all(model, model == "x") && model == "m"', { model: "m" }), true);
  assert.equal(asked('[{"a": 1}].all(args, args.a == 1)', { args: {} }), true);
  assert.deepEqual(asked("[1, 2].map(x, [10, 20].map(y, x + y))", {}), [
    [11n, 21n],
    [12n, 22n],
  ]);
});

test("an expression can be evaluated repeatedly, also after an error", () => {
  const expression = expressionOf("tags.all(t, t.size() > 1) && args.x == 1", { variables: VARIABLES });
  const input = { tags: ["ab", "cd"], args: { x: 1 } };
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(expression.evaluate(input), { kind: "value", value: true });
    assert.equal(expression.evaluate({}).kind, "error");
    assert.equal(expression.evaluate({ ...input, args: {} }).kind, "error");
  }
});
