/** Refusals of the checker, with positions and messages. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type CompileOptions,
  compileExpression,
  DYN,
  INT,
  listOf,
  mapOf,
  recordOf,
  STRING,
  typeText,
  type VariableTypes,
} from "../../../../src/server/core/cel/index.ts";
import { expressionOf } from "./evaluating.ts";

const VARIABLES: VariableTypes = {
  model: STRING,
  tokens: INT,
  key: recordOf("key", { name: STRING, metadata: mapOf(STRING, STRING) }),
  provider: STRING,
  "provider.metadata": mapOf(STRING, STRING),
  args: mapOf(STRING, DYN),
  tags: listOf(STRING),
};

function problems(source: string, result: CompileOptions["result"] = "bool"): readonly string[] {
  const compiled = compileExpression(source, { variables: VARIABLES, result });
  return compiled.kind === "compiled"
    ? []
    : compiled.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

const DECLARED = "declared: model, tokens, key, provider, provider.metadata, args, tags";

const REFUSED: readonly (readonly [source: string, ...problems: string[]])[] = [
  ["", "1:1 is empty"],
  ["  // only a remark", "1:3 is empty"],
  ["model ==", "1:7 expected an operand after `==`, found the end"],
  ['model = "x"', "1:7 `=` is not an operator; equality is `==`"],
  ['model == "x" and true', "1:14 `and` is written `&&`"],
  ['(model == "x"', "1:1 `(` is not closed"],
  ['(model == "x"]', "1:14 `(` is closed by `]`, expected `)`"],
  ["true)", "1:5 `)` closes nothing"],
  ['model == "x', "1:10 the string that begins here does not end"],
  ['key.`name` == "x"', '1:5 names in back quotes are not read; write `m["a-b"]` for such a key'],
  ["if == 1", "1:1 `if` is a reserved word and cannot be a name"],
  ["tokens > 9223372036854775808", "1:10 9223372036854775808 is beyond the range of int (64 bits)"],
  ["Foo{a: 1} == 1", "1:1 `Foo{…}`: message types are not supported"],
  ['modle == "x"', `1:1 there is no variable \`modle\`, did you mean \`model\`? ${DECLARED}`],
  ["anything", `1:1 there is no variable \`anything\`; ${DECLARED}`],
  ["model == 1", "1:7 `==` compares values of one type, found string and int"],
  ["tokens + 1.0 > 2.0", "1:8 `+` is not defined for int and double; convert one with `double(…)`"],
  ["model < 1", "1:7 `<` is not defined for string and int"],
  ["!model", "1:2 `!` is not defined for string"],
  ["model && true", "1:1 `&&` wants bool, found string"],
  ['model ? "a" : "b"', "1:1 `?` wants bool, found string"],
  ["tokens in tags", "1:8 `in` cannot find int in list(string)"],
  ["model in model", "1:7 `in` looks into a list or the keys of a map, found string"],
  ["tags[model] == model", "1:5 list(string) cannot be indexed by string"],
  ['key.nmae == "x"', "1:4 `key` has no field `nmae`, did you mean `name`? fields: name, metadata"],
  ['key["nmae"] == "x"', "1:5 `key` has no field `nmae`, did you mean `name`? fields: name, metadata"],
  ["model.size > 1", "1:6 a value of type string has no field `size`"],
  ["provider.region == 1", "1:9 a value of type string has no field `region` beside `provider.metadata`"],
  ['model.startswith("a")', "1:6 there is no function `startswith`, did you mean `startsWith`?"],
  ['startsWith(model, "a")', "1:1 `startsWith` is called on a value: `x.startsWith(…)`"],
  ["model.int() == 1", "1:6 `int` is not called on a value but as `int(…)`"],
  ["model.startsWith(1)", "1:6 there is no `string.startsWith(int)`; there is `string.startsWith(string)`"],
  ['sets.contain(tags, ["a"])', "1:1 there is no function `sets.contain`, did you mean `sets.contains`?"],
  ["has(model)", "1:1 `has` takes the selection of a field, such as `has(key.metadata.team)`"],
  ['tags.exists("t", true)', "1:5 `exists` is written `list.exists(x, …)`, where `x` is the name of its variable"],
  ["tags.all(t, t)", "1:13 `all` wants bool, found string"],
  ["model.exists(c, true)", "1:1 `exists` iterates over a list or the keys of a map, found string"],
  ["tags.sortBy(t, [t]) == tags", "1:16 `sortBy` wants a value that has an order, found list(string)"],
  ["{1.0: true}[1.0]", "1:2 a key of a map is a string, an int, a uint or a bool, not double"],
  ["model", "1:1 the result must be a bool, found string"],
  [
    "modl == 1 || tokens == model",
    `1:1 there is no variable \`modl\`, did you mean \`model\`? ${DECLARED}`,
    "1:21 `==` compares values of one type, found int and string",
  ],
];

test("every error is reported with line and column in a sentence", () => {
  for (const [source, ...expected] of REFUSED) assert.deepEqual(problems(source), expected, source);
});

test("a position counts lines of the expression", () => {
  assert.deepEqual(problems('model\n  .startsWith("a") &&\n  tokns > 1'), [
    `3:3 there is no variable \`tokns\`, did you mean \`tokens\`? ${DECLARED}`,
  ]);
});

test("at most eight errors of one expression are reported", () => {
  assert.equal(problems(Array.from({ length: 20 }, (_, at) => `v${at}`).join(" || ")).length, 8);
});

test("a cost must be a number of any of the three types", () => {
  for (const source of ["tokens", "2u", "double(tokens) * 0.5", "args.n"])
    assert.deepEqual(problems(source, "number"), []);
  assert.deepEqual(problems("model", "number"), ["1:1 the result must be a number, found string"]);
});

test("an expression is limited in length and depth", () => {
  const long = `model == "${"x".repeat(8192)}"`;
  assert.match(problems(long)[0] ?? "", /at most 8192/);
  assert.match(problems(`${"(".repeat(300)}true${")".repeat(300)}`)[0] ?? "", /nested deeper than 200 levels/);
  assert.match(problems(`${"true ? true : ".repeat(300)}true`)[0] ?? "", /nested/);
  assert.match(problems(`${"tokens + ".repeat(500)}1 > 2`)[0] ?? "", /nested deeper than 200 levels/);
});

test("types are inferred through lists, maps, conditionals and unknowns", () => {
  const types: readonly (readonly [source: string, type: string])[] = [
    ["[]", "list(dyn)"],
    ["[1, 2]", "list(int)"],
    ['[1, "a"]', "list(dyn)"],
    ["[[], [1]]", "list(list(int))"],
    ['{"a": 1u}', "map(string, uint)"],
    ["tags.map(t, t.size())", "list(int)"],
    ["tags.filter(t, true)[0]", "string"],
    ["true ? tags : []", "list(string)"],
    ["args.x.y[0]", "dyn"],
    ["args.x + 1", "int"],
    ["key.metadata", "map(string, string)"],
    ["provider.metadata.region", "string"],
    ['timestamp("2020-01-01T00:00:00Z") - timestamp(0)', "duration"],
    ["tags.map(key, key.size())", "list(int)"],
    ["type(1) == int", "bool"],
    ["[[1]].flatten()", "list(int)"],
    ["key", "key"],
  ];
  for (const [source, type] of types) {
    assert.equal(typeText(expressionOf(source, { variables: VARIABLES }).type), type, source);
  }
});

test("the variables that an expression reads are reported", () => {
  const { reads } = expressionOf('key.name == provider && provider.metadata.a == "b" && tags.all(model, model == "")', {
    variables: VARIABLES,
  });
  assert.deepEqual(reads, ["key", "provider", "provider.metadata", "tags"]);
});

test("parts that always fail are reported, only the innermost", () => {
  const failures = (source: string) =>
    expressionOf(source, { variables: VARIABLES }).failures.map(({ column, message }) => `${column} ${message}`);
  assert.deepEqual(failures("tokens == 1 / 0 + 2"), ["13 this part always fails: division by zero"]);
  assert.deepEqual(failures('model.matches("[")'), [
    "6 this part always fails: the pattern is not a regular expression of RE2",
  ]);
  assert.deepEqual(failures('timestamp("soon") > timestamp(0)'), [
    "1 this part always fails: the text is no timestamp (RFC 3339)",
  ]);
  assert.deepEqual(failures('model.matches("a+") && tokens / 2 == 1'), []);
});

test("the value of a part without variables is known, and of no other", () => {
  const known: readonly (readonly [source: string, constant: unknown])[] = [
    ["true", true],
    ["1 + 1 == 3", false],
    ['model == "a" && false', false],
    ["true || tokens > 1", true],
    ["!(tokens > 1 && false)", true],
    ["tokens in []", false],
    ['model == "a" && tokens > 1 && model == "b"', false],
    ['key.metadata.team == "a" && key.metadata["team"] == "b"', false],
    ["[1, 2].all(x, x > 0)", true],
    ["false ? tokens > 1 : 1 == 1", true],
    ['model == "a" || model == "b"', undefined],
    ['model == "a" && key.name == "b"', undefined],
    ["tags.all(t, true)", undefined],
    ['tags.exists(t, [1].exists(x, t == "a"))', undefined],
    ["tokens == tokens", undefined],
  ];
  for (const [source, constant] of known) {
    assert.equal(expressionOf(source, { variables: VARIABLES }).constant, constant, source);
  }
});

test("comparisons with texts are reported, and which of them are required", () => {
  const { comparisons } = expressionOf(
    'model.startsWith("gpt-") && (provider == "a" || key.metadata["team"] in ["b", "c"]) && model != "d"',
    { variables: VARIABLES },
  );
  assert.deepEqual(
    comparisons.map(({ path, how, texts, isDemanded }) => [path, how, texts, isDemanded]),
    [
      ["model", "starts", ["gpt-"], true],
      ["provider", "equals", ["a"], false],
      ["key.metadata.team", "equals", ["b", "c"], false],
    ],
  );
});

test("an argument of unknown type makes the result's type unknown", () => {
  for (const [source, type] of [
    ['["a"] + ["b"]', "list(string)"],
    ['["a"] + ["b", 0u]', "list(dyn)"],
    ['["b", 0u] + ["a"]', "list(dyn)"],
    ['[["a"]] + [["b", 1]]', "list(list(dyn))"],
    ['[] + ["a"]', "list(string)"],
  ] as const) {
    const compiled = compileExpression(source, { variables: VARIABLES, result: "any" });
    assert.equal(compiled.kind === "compiled" ? typeText(compiled.expression.type) : compiled.kind, type, source);
  }
});
