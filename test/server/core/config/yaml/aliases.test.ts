/** Aliases and merge keys that are expanded on request: their values, and their size limit. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { stringify } from "yaml";
import { formatProblem, parseTree, type Tree } from "../../../../../src/server/core/config/index.ts";

const read = (text: string) => parseTree({ name: "f", text }, { aliases: "written out" });

const plain = (tree: Tree | undefined): unknown => {
  if (tree?.kind === "list") return tree.items.map(plain);
  if (tree?.kind === "map") return Object.fromEntries([...tree.entries].map(([key, { value }]) => [key, plain(value)]));
  return tree?.kind === "scalar" ? tree.value : tree?.kind;
};

const valueIn = (text: string): unknown => {
  const { tree, problems } = read(text);
  assert.deepEqual(problems.map(formatProblem), []);
  return plain(tree);
};

const problemsOf = (text: string): readonly string[] => read(text).problems.map(formatProblem);

test("an alias is the value of the last anchor of its name before it", () => {
  assert.deepEqual(valueIn("a: &x { k: 1 }\nb: *x\nc: &x [2]\nd: [*x, *x]\n"), {
    a: { k: 1 },
    b: { k: 1 },
    c: [2],
    d: [[2], [2]],
  });
  // An inner alias keeps its value even if its name was reused since.
  assert.deepEqual(valueIn("a: &x 1\nb: &y { k: *x }\nc: &x 2\nd: *y\ne: *x\n"), {
    a: 1,
    b: { k: 1 },
    c: 2,
    d: { k: 1 },
    e: 2,
  });
});

test("a merge key adds only missing keys: the map itself first, then the first merged map", () => {
  const shared = "a: &a { k: 1, l: 1 }\nb: &b { k: 2, m: 2 }\n";
  const of = (text: string): unknown => Reflect.get(valueIn(`${shared}it: ${text}\n`) as object, "it");
  assert.deepEqual(of("{ <<: *a, k: 9 }"), { k: 9, l: 1 });
  assert.deepEqual(of("{ k: 9, <<: *a }"), { k: 9, l: 1 });
  assert.deepEqual(of("{ <<: [*a, *b] }"), { k: 1, l: 1, m: 2 });
  assert.deepEqual(of("{ <<: { k: 3 } }"), { k: 3 });
  assert.deepEqual(valueIn("a: &a { k: 1 }\nb: &b { <<: *a, l: 2 }\nc: { <<: *b, m: 3 }\n"), {
    a: { k: 1 },
    b: { k: 1, l: 2 },
    c: { k: 1, l: 2, m: 3 },
  });
});

test("merged keys keep the line where they are written", () => {
  const { tree, placeOf } = read("defaults: &d\n  wrong: 1\nmine:\n  <<: *d\n  own: 2\n");
  const mine = tree?.kind === "map" ? tree.entries.get("mine")?.value : undefined;
  const lines = mine?.kind === "map" ? [...mine.entries].map(([key, { keyAt }]) => [key, placeOf(keyAt).line]) : [];
  assert.deepEqual(lines, [
    ["own", 5],
    ["wrong", 2],
  ]);
});

test("an alias to nothing, to itself or to a non-object is refused with its line", () => {
  assert.deepEqual(problemsOf("a: *nothing\n"), ["f:1:4: a: this alias names no anchor before it"]);
  assert.deepEqual(problemsOf("a: *x\nb: &x 1\n"), ["f:1:4: a: this alias names no anchor before it"]);
  assert.deepEqual(problemsOf("a: &x\n  b: [*x]\n"), ["f:2:7: a.b[0]: this alias names the node that contains it"]);
  assert.deepEqual(problemsOf("a: &x { <<: *x }\n"), ["f:1:13: a: this alias names the node that contains it"]);
  assert.deepEqual(problemsOf("x: &x 1\na: { <<: *x }\n"), [
    "f:1:7: a: the value of `<<` must be an object, or a list of objects",
  ]);
  assert.deepEqual(problemsOf("x: &x { k: !!binary aGk= }\na: *x\n").length, 2);
});

test("aliases that would expand beyond the limit are refused at once", () => {
  const wide = `a: &k0 [x, x]\n${Array.from({ length: 40 }, (_, at) => `k${at}: &k${at + 1} [*k${at}, *k${at}]\n`).join("")}`;
  const merging = `a: &k0 { a0: 1, b0: 2 }\n${Array.from({ length: 40 }, (_, at) => `k${at}: &k${at + 1} { a${at + 1}: *k${at}, b${at + 1}: *k${at}, <<: *k${at} }\n`).join("")}`;
  const deep = `a: &k0 [x]\n${Array.from({ length: 80 }, (_, at) => `k${at}: &k${at + 1} [*k${at}]\n`).join("")}`;
  assert.deepEqual(problemsOf(wide).slice(-1), ["f:1:1: the document contains more than 100000 values"]);
  assert.deepEqual(problemsOf(merging).slice(-1), ["f:1:1: the document contains more than 100000 values"]);
  assert.match(problemsOf(deep)[0] ?? "", /nested deeper than 64 levels/);
});

test("a document with shared values equals the document with them written out", () => {
  const shared = fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 1, maxLength: 3 });
  const value = shared.chain((parts) =>
    fc.dictionary(
      fc.stringMatching(/^[a-z]{1,3}$/),
      fc.oneof(fc.constantFrom(...parts), fc.array(fc.constantFrom(...parts), { maxLength: 3 })),
      { minKeys: 1, maxKeys: 5 },
    ),
  );
  let aliased = 0;
  fc.assert(
    fc.property(value, (whole) => {
      const text = stringify(whole, { aliasDuplicateObjects: true });
      if (text.includes("*a1")) aliased += 1;
      const written = read(stringify(whole, { aliasDuplicateObjects: false }));
      const { tree, problems } = read(text);
      assert.deepEqual(plain(tree), plain(written.tree));
      assert.equal(problems.length, written.problems.length);
    }),
  );
  assert.ok(aliased > 5, `only ${aliased} documents had aliases`);
});
