import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { jsonText, readJson, Verbatim, writeJson } from "../../../../../src/server/core/dialects/json/json-source.ts";

const NESTING = 513;

const space = fc.constantFrom("", "", "", " ", "\n", "\t", "\r\n  ");

const numbers = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom(
    "1.0",
    "1e5",
    "1E+2",
    "-0",
    "0",
    "0.10",
    "12345678901234567890",
    "9007199254740993",
    "1e400",
    "-1.50",
  ),
);

const strings = fc.oneof(
  fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)),
  fc.string().map((text) => JSON.stringify(text).replaceAll("/", "\\/")),
  fc.constantFrom('"\\u0041"', '"\\ud800"', '"\\\\"', '"\\\\\\""', `"${"a ".repeat(40)}\\""`, '"[1.0]"', '"1"'),
);

const names = fc.oneof(
  { weight: 3, arbitrary: strings },
  fc.constantFrom('"1"', '"10"', '"\\u0031"', '"__proto__"', '"constructor"', '"length"', '"a"', '"toJSON"'),
);

/** JSON texts with odd spacing and spelling, and duplicate names. */
const { texts } = fc.letrec<{ texts: string; inner: string; list: string; object: string }>((tie) => ({
  texts: fc.tuple(space, tie("inner"), space).map((parts) => parts.join("")),
  inner: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    numbers,
    strings,
    fc.constantFrom("true", "false", "null"),
    tie("list"),
    tie("object"),
  ),
  list: fc
    .tuple(space, fc.array(tie("texts"), { maxLength: 4 }))
    .map(([gap, items]) => (items.length === 0 ? `[${gap}]` : `[${items.join(",")}]`)),
  object: fc
    .tuple(space, fc.array(fc.tuple(space, names, space, tie("texts")), { maxLength: 5 }))
    .map(([gap, members]) => {
      const written = members.map(([before, name, after, value]) => `${before}${name}${after}:${value}`);
      return written.length === 0 ? `{${gap}}` : `{${written.join(",")}}`;
    }),
}));

test("gives the values that JSON.parse gives", () => {
  fc.assert(
    fc.property(texts, (text) => assert.deepEqual(readJson(text).value, JSON.parse(text))),
    { numRuns: 1_000, verbose: true },
  );
});

test("gives every part its own text, or the value itself if serializing gives the same", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const source = readJson(text);
      eachPart(source.value, (part) => {
        const exact = source.exact(part);
        const written = jsonText(exact);
        assert.deepEqual(JSON.parse(written), part);
        if (exact instanceof Verbatim) assert.ok(text.includes(written));
        else assert.equal(exact, part);
      });
    }),
    { numRuns: 1_000, verbose: true },
  );
});

test("keeps a part to the byte, wherever it is and whatever surrounds it", () => {
  const parts = fc.oneof(
    texts.map((text) => `[1.0,${text}]`),
    texts.map((text) => `{"2":${text},"1":0}`),
    texts.map((text) => `{"id":12345678901234567890,"rest":${text}}`),
  );
  fc.assert(
    fc.property(parts, texts, space, (part, other, gap) => {
      const text = `{"a":{"kept":[3]},"b":${other},"a":{"other":${other},"kept":${gap}${part}${gap}},"c":[${other}]}`;
      const source = readJson(text);
      const { kept } = (source.value as { a: { kept: unknown } }).a;
      const exact = source.exact(kept);
      assert.equal(jsonText(exact), part);
      assert.equal(writeJson({ schema: exact, list: [exact] }), `{"schema":${part},"list":[${part}]}`);
    }),
    { numRuns: 1_000, verbose: true },
  );
});

const SPELLINGS: readonly (readonly [what: string, text: string])[] = [
  ["a fraction of zero", "[1.0]"],
  ["an exponent", "[1e5]"],
  ["a minus zero", "[-0]"],
  ["an integer above 2^53", "[9007199254740993]"],
  ["a number that no double represents", "[1e400]"],
  ["more digits than a double has", "[0.12345678901234567890]"],
  ["names that look like indexes", '{"b":1,"10":2,"9":3}'],
  ["such a name written with escapes", '{"b":1,"\\u0039":3}'],
];

for (const [what, text] of SPELLINGS) {
  test(`keeps the text of a part with ${what}`, () => {
    const source = readJson(`{"part": ${text} , "n": 1}`);
    const { part } = source.value as { part: unknown };
    assert.deepEqual(source.exact(part), new Verbatim(text));
  });
}

test("gives the value itself if its text loses nothing in parsing", () => {
  for (const text of ['{"a":[0,-1,0.7,123456789012345,1.5e-7,"1.0","\\ud800"]}', "[]", '{"a1":{"-1":1}}', '"1"']) {
    const source = readJson(text);
    eachPart(source.value, (part) => assert.equal(source.exact(part), part));
  }
});

test("gives the value itself only if serializing gives its text", () => {
  const member = fc.tuple(fc.oneof(fc.string(), fc.nat(20).map(String)), numbers);
  const objects = fc.uniqueArray(member, { selector: ([name]) => name, maxLength: 5 });
  fc.assert(
    fc.property(objects, fc.nat(3), (members, depth) => {
      const object = `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
      const text = `${"[".repeat(depth)}${object}${"]".repeat(depth)}`;
      const source = readJson(text);
      assert.equal(jsonText(source.exact(source.value)), text);
    }),
    { numRuns: 2_000, verbose: true },
  );
});

test("returns values without source text unchanged", () => {
  const source = readJson('{"a":{"b":[]},"a":{"__proto__":[1.0]},"c":{"__proto__":{}},"c":{}}');
  const strange = { b: [] };
  for (const part of [strange, Object.prototype, undefined, null, "text", 1]) assert.equal(source.exact(part), part);
});

test("reads a member named __proto__ as data", () => {
  const source = readJson('{"__proto__":{"admin":1.0}}');
  const value = source.value as object;
  assert.deepEqual(Object.keys(value), ["__proto__"]);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal(writeJson(value), '{"__proto__":{"admin":1}}');
  assert.equal(jsonText(source.exact(Object.values(value)[0])), '{"admin":1.0}');
});

test("refuses what JSON.parse refuses, with a SyntaxError that quotes none of it", () => {
  const pieces = fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"1"',
    "1.0",
    "01",
    "-",
    "tru",
    "null",
    " ",
    "\u0001",
    '"\n"',
  );
  const broken = fc.oneof(
    fc.string(),
    fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join("")),
    fc.tuple(texts, fc.nat(), fc.string()).map(([text, at, other]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + other + text.slice(place + 1);
    }),
  );
  fc.assert(
    fc.property(broken, (text) => {
      const refused = outcome(() => JSON.parse(text) as unknown) instanceof SyntaxError;
      const got = outcome(() => readJson(text));
      assert.equal(got instanceof SyntaxError, refused);
      if (got instanceof SyntaxError) assert.equal(got.message, "the text is not JSON");
    }),
    { numRuns: 2_000, verbose: true },
  );
});

test("refuses nesting beyond the limit of requests", () => {
  for (const [open, close] of [
    ["[", "]"],
    ['{"a":', "}"],
  ] as const) {
    const nested = (levels: number) => `${open.repeat(levels)}1.0${close.repeat(levels)}`;
    const source = readJson(nested(NESTING));
    assert.equal(jsonText(source.exact(source.value)), nested(NESTING));
    assert.ok(writeJson(source.value).length > NESTING);
    for (const levels of [NESTING + 1, 200_000]) {
      assert.throws(() => readJson(nested(levels)), { name: "SyntaxError", message: /nested deeper than 513 levels/ });
    }
  }
});

test("takes time linear in a text of quotes and backslashes", () => {
  const text = `[1.0,"${'\\\\\\"'.repeat(500_000)}"]`;
  const source = readJson(text);
  assert.equal(jsonText(source.exact(source.value)), text);
});

test("serializes like JSON.stringify", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => assert.equal(writeJson(value), JSON.stringify(value))),
    { numRuns: 1_000, verbose: true },
  );
  const holes = { a: undefined, b: [undefined, 1], c: { d: undefined }, e: Number.NaN, f: "\ud800", "": null };
  assert.equal(writeJson(holes), JSON.stringify(holes));
  assert.equal(writeJson(undefined), "null");
});

test("writes raw texts in place of values unchanged", () => {
  const text = '{"b" : 1.0,\n"a":2}';
  const value = { list: [new Verbatim(text), undefined], none: undefined, object: { part: new Verbatim("[]") } };
  assert.equal(writeJson(value), `{"list":[${text},null],"object":{"part":[]}}`);
  assert.equal(writeJson(new Verbatim(text)), text);
  assert.equal(jsonText(new Verbatim(text)), text);
  assert.equal(jsonText({ a: [1] }), '{"a":[1]}');
});

test("distinguishes its own markers from those written by a client", () => {
  const mark = JSON.parse(JSON.stringify(new Verbatim("1"))) as string;
  const forged = fc.constantFrom(mark, `a${mark}`, `a"${mark}`, `${mark}"`, `"${mark}"`, "a");
  const values = fc.record({ before: forged, list: fc.array(forged), name: forged, after: forged });
  fc.assert(
    fc.property(values, ({ before, list, name, after }) => {
      const value = (part: unknown) => ({ before, part, list: [...list, part], object: { [name]: part, after } });
      assert.equal(writeJson(value(new Verbatim("[1.0]"))), JSON.stringify(value([1])).replaceAll("[1]", "[1.0]"));
    }),
    { numRuns: 500, verbose: true },
  );
});

function eachPart(value: unknown, visit: (part: object) => void): void {
  if (typeof value !== "object" || value === null) return;
  visit(value);
  for (const inner of Object.values(value)) eachPart(inner, visit);
}

/** Returns the error or the value. */
function outcome(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
