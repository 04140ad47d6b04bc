import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { findJsonFault } from "../../src/base/index.ts";

const twice = (name: string) => ({ kind: "repeated", name });

test("a duplicate member is reported, with any escapes and at any depth", () => {
  const rows: readonly (readonly [string, ReturnType<typeof twice> | undefined])[] = [
    ['{"a":1,"a":1}', twice("a")],
    ['{"a":1,"\\u0061":2}', twice("a")],
    ['[{"b":{"c":[{"d":1,"d":2}]}}]', twice("d")],
    ['{"":1, "" : 2}', twice("")],
    ['{"__proto__":1,"__proto__":2}', twice("__proto__")],
    ['{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}', undefined],
    ['{"a":"a\\":{","b":"}\\\\","c":":a:"}', undefined],
    ['"a:a:a"', undefined],
    ["[[],{},1,null]", undefined],
  ];
  for (const [json, expected] of rows) assert.deepEqual(findJsonFault(json, 8), expected, json);
});

test("nesting is limited, and a long text takes one pass", () => {
  assert.equal(findJsonFault("[[[1]]]", 3), undefined);
  assert.deepEqual(findJsonFault('{"a":[{"b":[]}]}', 3), { kind: "deep" });
  assert.deepEqual(findJsonFault("[".repeat(1_000_000), 64), { kind: "deep" });
  assert.equal(findJsonFault(JSON.stringify({ a: '"\\'.repeat(500_000) }), 1), undefined);
});

test("output of JSON.stringify has no duplicate, and one more member with the same name is one", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { minKeys: 1 }), (object) => {
      const json = JSON.stringify(object);
      assert.equal(findJsonFault(json, 16), undefined);
      const [name = ""] = Object.keys(object);
      assert.deepEqual(findJsonFault(`${json.slice(0, -1)},${JSON.stringify(name)}:0}`, 16), twice(name));
    }),
  );
});
