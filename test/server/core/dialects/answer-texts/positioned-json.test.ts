import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type JsonNode, parseJsonTree } from "../../../../../src/server/core/dialects/answer-texts/positioned-json.ts";

/**
 * Returns the value of a tree of places, read from the text. The last of two members with one name counts, as for
 * `JSON.parse`.
 */
function saidBy(text: string, node: JsonNode): unknown {
  if (node.kind === "array") return node.items.map((item) => saidBy(text, item));
  if (node.kind !== "object") return JSON.parse(text.slice(node.start, node.end));
  const value = {};
  for (const { name, value: member } of node.members) {
    const own = { value: saidBy(text, member), enumerable: true, configurable: true, writable: true };
    Object.defineProperty(value, name, own);
  }
  return value;
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Asserts that places are found exactly where `JSON.parse` finds JSON, with the same values. */
function assertAsParsed(text: string): void {
  const expected = parsed(text);
  const root = parseJsonTree(text);
  assert.equal(root !== undefined, expected !== undefined, JSON.stringify(text));
  if (root === undefined || expected === undefined) return;
  assert.deepEqual(saidBy(text, root), expected.value);
  assert.equal(text.slice(root.start, root.end).trim(), text.slice(root.start, root.end));
}

const LONG = "x".repeat(100);

const TEXTS: readonly string[] = [
  ...["", " ", "{", "[", "}", "]", "{}", "[]", " [ ] ", " { } ", "[,]", "[1,]", "[,1]", "[1 2]", "[1,,2]", "[[1]"],
  ...['{"a"}', '{"a":}', '{"a":1,}', '{,"a":1}', '{"a" : 1 , "b":[ ]}', "{a:1}", "{'a':1}", '{"a":1 "b":2}', "{1:2}"],
  ...['{"a":1,"a":2}', '{"__proto__":1}', '{"a":{"__proto__":[]}}', '{"":0}', '{"\\u0061":1,"a":2}', '{"a":1}}', "[]]"],
  ...["true", "false", "null", "tru", "truE", "nul", "nulll", "falsey", "True", "NaN", "Infinity", "undefined", "-"],
  ...["0", "-0", "01", "00", "1.", ".5", "1.5", "1e5", "1E+5", "1e-5", "1e", "1e+", "+1", "--1", "0x1", "1_0", "-01"],
  ...["1 2", "1,2", "1e5.5", "123456789012345678901234567890", "[1.0,1.50]", "[-]", "[1e]", "\u00a01", "\ufeff{}"],
  ...[
    '"',
    '"a',
    '"a"',
    '"\\"',
    '"\\""',
    '"\\\\"',
    '"\\\\\\"',
    '"\\x"',
    '"\\u12"',
    '"\\u12G4"',
    '"\\u1234"',
    '"\\ud800"',
  ],
  ...['"\\/\\b\\f\\n\\r\\t"', '"\n"', '"\t"', '"\u0000"', '"\u001f"', '"\u007f\u2028"', '"\ud800"', '"é"', '"\\'],
  ...[`"${LONG}"`, `"${LONG}\\"`, `"${LONG}\\""`, `"${LONG}\\q"`, `"${LONG}\n"`, `"${LONG}\\u00e9${LONG}"`, `"${LONG}`],
  ...[`"${LONG}\\\\"`, `"${LONG}\\\\\\"`, `"${"\\n".repeat(60)}"`, `"${"\\".repeat(60)}"`, `"${"\\".repeat(61)}"`],
  ...["\t\r\n {} \t\r\n", "\f{}", "\v{}", "{}\u0000", "[1]//", "/**/1", "[1]\u2028"],
];

test("JSON strings are found exactly where JSON.parse finds them", () => {
  for (const text of TEXTS) assertAsParsed(text);
});

test("found strings equal those of JSON.parse, for any JSON and after a change", () => {
  const change = fc.record({
    at: fc.nat(),
    cut: fc.nat(3),
    put: fc.constantFrom(...'{}[]",:\\u0019eE+-. \n\u0001tfn'),
  });
  const texts = fc.tuple(fc.json(), fc.nat(2)).map(([json, spaces]) => JSON.stringify(JSON.parse(json), null, spaces));
  fc.assert(
    fc.property(texts, fc.array(change, { maxLength: 3 }), (json, changes) => {
      let text = json;
      assertAsParsed(text);
      for (const { at, cut, put } of changes) {
        const place = at % (text.length + 1);
        text = text.slice(0, place) + put + text.slice(place + cut);
        assertAsParsed(text);
      }
    }),
    { numRuns: 3_000 },
  );
});

test("nesting and the number of values are limited", () => {
  const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
  assert.notEqual(parseJsonTree(nested(512)), undefined);
  assert.equal(parseJsonTree(nested(513)), undefined);
  assert.equal(parseJsonTree("[".repeat(100_000)), undefined);
  assert.notEqual(parseJsonTree("[1,2,3]", 4), undefined);
  assert.equal(parseJsonTree("[1,2,3]", 3), undefined);
});
