import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { editObject, memberValue, replaceValue, scanObject } from "../../../../../src/server/core/dialects/index.ts";

const scan = (text: string, ...wanted: string[]) => scanObject(Buffer.from(text), wanted);

test("finds requested members of any JSON object that JSON.parse accepts, in any position", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), fc.nat(4), (rest, model, indent) => {
      const value: Record<string, unknown> = { ...rest, model };
      const bytes = Buffer.from(JSON.stringify(value, null, indent));
      const result = scanObject(bytes, ["model"]);
      assert.equal(result.kind, "object");
      const [member] = result.members;
      assert.ok(member);
      assert.deepEqual(memberValue(bytes, member), JSON.parse(JSON.stringify(model)));
    }),
    { verbose: true },
  );
});

test("agrees with JSON.parse on what is an object, except inside strings", () => {
  const pieces = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"model"',
    "1",
    "-0.5e+3",
    "01",
    "1.",
    "true",
    "nul",
    "null",
    " ",
    "\n",
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 14 }), (parts) => {
      const text = parts.join("");
      let isObject = false;
      try {
        const parsed: unknown = JSON.parse(text);
        isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
      } catch {
        // Not JSON at all.
      }
      assert.equal(scan(text, "other").kind === "object", isObject, text);
    }),
    { numRuns: 5_000 },
  );
});

test("a byte order mark is skipped before an answer and is a problem before a request", () => {
  const bytes = Buffer.from('\uFEFF {"n":1,"model":"real"}');
  const found = scanObject(bytes, ["model"]);
  assert.ok(found.kind === "object" && found.members[0] !== undefined);
  assert.equal(replaceValue(bytes, found.members[0], '"a"').toString(), '\uFEFF {"n":1,"model":"a"}');
  const edits = { set: new Map([["x", "2"]]), remove: new Set(["n"]), rename: new Map<string, string>() };
  assert.equal(editObject(bytes, edits).toString(), '\uFEFF {"model":"real","x":2}');
  assert.deepEqual(scanObject(bytes, ["model"], true), {
    kind: "problem",
    message: "the body begins with a byte order mark",
  });
  assert.equal(scan('\uFEFF\uFEFF{"model":1}', "model").kind, "problem");
});

test("reports what is wrong and where, and never quotes the text", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["", "the body is empty"],
    [" \n", "the body is empty"],
    ["[1]", "the body is not a JSON object"],
    ['{"model":"a"', "the body ends before its JSON does"],
    ['{"model":"a', "the body ends inside a string"],
    ['{"a":1,}', "the body is not JSON at byte 7"],
    ['{"a":1} x', "the body is not JSON at byte 8"],
    ['{"model":"a","x":1,"model":"b"}', 'the body names "model" twice'],
    ['{"model":"a","mod\\u0065l":"b"}', 'the body names "model" twice'],
    [`{"a":${"[".repeat(600)}`, "the body is nested deeper than 512 levels"],
  ];
  for (const [text, message] of cases) assert.deepEqual(scan(text, "model"), { kind: "problem", message }, text);
});

test("refuses invalid UTF-8", () => {
  const bytes = Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
  assert.deepEqual(scanObject(bytes, ["model"]), { kind: "problem", message: "the body is not valid UTF-8" });
});

test("skips strings of any length with escapes at every distance from their end", () => {
  for (let length = 0; length < 200; length++) {
    const content = `${"x".repeat(length)}\\\\\\"${"y".repeat(length % 7)}`;
    const text = `{"a":"${content}","model":"m"}`;
    const bytes = Buffer.from(text);
    const result = scanObject(bytes, ["model"]);
    assert.equal(result.kind, "object");
    assert.equal(result.members[0] && memberValue(bytes, result.members[0]), "m");
  }
});

test("replacing a value keeps every other byte", () => {
  const bytes = Buffer.from('{ "a" : 12345678901234567890 ,\n "model":"fast", "z":"\\u00e9" }');
  const result = scanObject(bytes, ["model"]);
  assert.equal(result.kind, "object");
  assert.ok(result.members[0]);
  assert.equal(
    replaceValue(bytes, result.members[0], '"sim-chat"').toString(),
    '{ "a" : 12345678901234567890 ,\n "model":"sim-chat", "z":"\\u00e9" }',
  );
});

test("edits have the effect of the same edits on the parsed object", () => {
  const keys = fc.constantFrom("a", "b", "c", "d", "e");
  fc.assert(
    fc.property(
      fc.dictionary(keys, fc.jsonValue()),
      fc.dictionary(keys, fc.jsonValue()),
      fc.array(keys),
      fc.nat(3),
      (object, set, removed, indent) => {
        const bytes = Buffer.from(JSON.stringify(object, null, indent));
        const remove = new Set(removed.filter((name) => !Object.hasOwn(set, name)));
        const edited = editObject(bytes, {
          set: new Map(Object.entries(set).map(([name, value]) => [name, JSON.stringify(value)])),
          remove,
          rename: new Map(),
        });
        const expected: Record<string, unknown> = { ...object, ...set };
        for (const name of remove) delete expected[name];
        assert.deepEqual(JSON.parse(edited.toString()), JSON.parse(JSON.stringify(expected)));
      },
    ),
  );
});

test("a renamed member is dropped if one with the new name exists", () => {
  const edits = { set: new Map<string, string>(), remove: new Set<string>(), rename: new Map([["old", "new"]]) };
  assert.equal(editObject(Buffer.from('{"old":1,"x":2}'), edits).toString(), '{"new":1,"x":2}');
  assert.equal(editObject(Buffer.from('{"old":1,"new":3}'), edits).toString(), '{"new":3}');
  const untouched = Buffer.from('{ "x" : 2 }');
  assert.equal(editObject(untouched, edits), untouched);
});

test("a text is reported as lossless only if serializing its values gives it again", () => {
  const digits = fc
    .array(fc.constantFrom("0", "1", "9", "5"), { minLength: 1, maxLength: 9 })
    .map((all) => all.join(""));
  const whole = digits.map((text) => text.replace(/^0+(?=\d)/, ""));
  const exponent = fc.constantFrom("", "", "", "e5", "E-7");
  const number = fc
    .tuple(fc.constantFrom("", "-"), whole, fc.option(digits), exponent)
    .map(([sign, integer, fraction, power]) => `${sign}${integer}${fraction === null ? "" : `.${fraction}`}${power}`);
  const name = fc.oneof(fc.string(), fc.nat(20).map(String)).map((text) => JSON.stringify(text));
  const member = fc.tuple(name, fc.oneof(number, name));
  const list = fc.uniqueArray(member, { selector: ([key]) => key, maxLength: 5 });
  fc.assert(
    fc.property(list, list, (outer, inner) => {
      const written = (members: typeof outer) => members.map(([key, value]) => `${key}:${value}`).join(",");
      const text = `{${[...outer.map(([key, value]) => `${key}:[${value}]`), `"inner":{${written(inner)}}`].join(",")}}`;
      const scan = scanObject(Buffer.from(text), []);
      assert.equal(scan.kind, "object");
      if (scan.kind === "object" && !scan.mayLoseSpelling) assert.equal(JSON.stringify(JSON.parse(text)), text);
    }),
    { numRuns: 3_000, verbose: true },
  );
});

test("texts of common requests are lossless", () => {
  const mayLoseSpelling = (text: string): boolean | undefined => {
    const scan = scanObject(Buffer.from(text), []);
    return scan.kind === "object" ? scan.mayLoseSpelling : undefined;
  };
  const kept = ["0", "-1", "0.2", "-0.5", "12.75", "4096", "123456789012345", '"1.0"', '{"a1":["2",[3]]}'];
  for (const value of kept) assert.equal(mayLoseSpelling(`{"value":${value}}`), false, value);
  const lost = ["1.0", "-0", "1e5", "1234567890123456", "0.0000001", '{"1":[]}', '[{"\\u0031":2}]', "[0,[1.50]]"];
  for (const value of lost) assert.equal(mayLoseSpelling(`{"value":${value}}`), true, value);
});
