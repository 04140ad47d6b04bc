import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import {
  createBodyUsage,
  type Dialect,
  normalizeUsage,
  type Usage,
} from "../../../../../src/server/core/dialects/index.ts";
import { scanForUsage } from "../../../../../src/server/core/dialects/usage/usage-scan.ts";

function read(text: string | Buffer, cuts: readonly number[] = [], dialect: Dialect = "compat"): Usage | undefined {
  const bytes = Buffer.from(text);
  const body = createBodyUsage(dialect);
  const places = [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  let from = 0;
  for (const to of places) {
    body.push(bytes.subarray(from, to));
    from = to;
  }
  return body.end();
}

const USAGE = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 };
const EXPECTED = normalizeUsage("compat", USAGE);

test("the usage of any JSON text, cut into any chunks, is that of the parsed text", () => {
  const name = fc.constantFrom("usage", "prompt_tokens", "a", 'us"age', "us\\age", "é", "\u2028");
  const count = fc.oneof(
    fc.nat(1_000),
    fc.constantFrom(null, -1, 2.5, 'x"usage":{"prompt_tokens":9}', "\\", '\\"', "é"),
  );
  const usage = fc.oneof(
    fc.dictionary(fc.constantFrom("prompt_tokens", "completion_tokens", "usage"), count),
    fc.constantFrom(null, [], USAGE),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      count,
      usage,
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(name, tie("value"), { maxKeys: 4 }),
    ),
  }));
  const object = fc.dictionary(name, value, { maxKeys: 5 });
  fc.assert(
    fc.property(
      fc.oneof({ weight: 9, arbitrary: object }, value),
      fc.nat(3),
      fc.array(fc.nat(), { maxLength: 6 }),
      fc.boolean(),
      (input, indent, cuts, escapes) => {
        let text = JSON.stringify(input, null, indent);
        if (escapes) text = text.replaceAll('"usage"', '"u\\u0073age"');
        const parsed = JSON.parse(text) as { usage?: unknown } | null;
        assert.deepEqual(read(text, cuts), normalizeUsage("compat", parsed?.usage), text);
      },
    ),
    { numRuns: 5_000, verbose: true },
  );
});

test("chunks of one byte change nothing", () => {
  const text = JSON.stringify({
    id: "usage",
    choices: [{ message: { content: 'say \\"usage\\": {"prompt_tokens": 1} \\\\', usage: { prompt_tokens: 3 } } }],
    usage: { ...USAGE, note: 'a "quoted\\" }] brace' },
  });
  assert.deepEqual(
    read(
      text,
      Array.from({ length: Buffer.byteLength(text) }, (_, at) => at),
    ),
    EXPECTED,
  );
});

test("a string with escapes at every distance from a cut ends at the right place", () => {
  for (let length = 0; length < 120; length++) {
    const text = `{"a":"${"x".repeat(length)}\\\\\\"${"y".repeat(length % 7)}\\\\","usage":{"prompt_tokens":20,"completion_tokens":5}}`;
    for (let cut = 0; cut < 12; cut++) assert.deepEqual(read(text, [length + cut]), EXPECTED, `${length} ${cut}`);
  }
});

test("of duplicate members the last counts, as in parsers", () => {
  assert.deepEqual(read(`{"usage":{"prompt_tokens":1},"usage":${JSON.stringify(USAGE)}}`), EXPECTED);
  assert.equal(read(`{"usage":${JSON.stringify(USAGE)},"usage":null}`), undefined);
});

test("a truncated body gives the usage that was complete, and a body that is not an object gives none", () => {
  const head = `{"usage":${JSON.stringify(USAGE)}`;
  assert.deepEqual(read(`${head},"data":[`), EXPECTED);
  assert.equal(read(head), undefined);
  for (const text of [
    "",
    "[]",
    `[${head}}]`,
    '"usage"',
    "12",
    "}}}",
    "\u0000\u0001",
    "ID3\u0004 audio",
    "data: {}\n\n",
  ]) {
    assert.equal(read(text), undefined, text);
  }
  assert.deepEqual(read(`\ufeff ${head}}\n`), EXPECTED);
  assert.deepEqual(read(`${head}} {"usage":{"prompt_tokens":1}}`), EXPECTED);
});

test("the usage of a reranker is read from `meta`, whatever the length and the cuts, unless there is a usage", () => {
  const tokens = { input_tokens: 12, output_tokens: 0 };
  const meta = { api_version: { version: "2" }, tokens, billed_units: null };
  const expected = normalizeUsage("compat", tokens);
  const results = (length: number) => [{ index: 0, relevance_score: 0.5, document: { text: "x".repeat(length) } }];
  for (const length of [1, 20_000]) {
    for (const body of [
      { id: "r", results: results(length), meta },
      { meta, results: results(length) },
      { meta, results: results(length), usage: null },
    ]) {
      const text = JSON.stringify(body);
      for (const cuts of [
        [],
        [1, 2, 3],
        Array.from({ length: 150 }, (_, at) => text.length - Math.min(at, text.length)),
      ]) {
        assert.deepEqual(read(text, cuts), expected, text.slice(0, 80));
      }
    }
    const both = JSON.stringify({ meta, results: results(length), usage: USAGE });
    assert.deepEqual(read(both), EXPECTED);
  }
  assert.equal(read(JSON.stringify({ meta: { page: 3 }, results: [] })), undefined);
});

test("an oversized usage is ignored, and what follows is read", () => {
  const large = { ...USAGE, x: "y".repeat(70_000) };
  assert.equal(read(JSON.stringify({ usage: large, z: 1 }), [100, 40_000, 69_000]), undefined);
  assert.deepEqual(
    read(`{"usage":${JSON.stringify(large)},"usage":${JSON.stringify(USAGE)}}`, [1_000, 66_000]),
    EXPECTED,
  );
});

test("no bytes make the reader throw, and valid JSON gives its usage", () => {
  const pieces = ['{"usage":', '"', "{", "}", "[", "]", ",", ":", "\\", "\\u", "null", "1", '{"prompt_tokens":3}', "é"];
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces), { maxLength: 12 }),
      fc.array(fc.nat(), { maxLength: 4 }),
      (parts, cuts) => {
        const text = parts.join("");
        const found = read(text, cuts);
        let parsed: { usage?: unknown } | null;
        try {
          parsed = JSON.parse(text);
        } catch {
          return;
        }
        assert.deepEqual(found, normalizeUsage("compat", parsed?.usage), text);
      },
    ),
    { numRuns: 5_000, verbose: true },
  );
});

test("a body read at once reports the same as a scanned one, whatever its content", () => {
  const pieces = [
    '{"usage":',
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "null",
    "-1",
    '{"prompt_tokens":3}',
    "\ufeff",
    "é",
    " ",
  ];
  const valid = fc.json({ maxDepth: 3 }).map((text) => `{"a":${text},"usage":{"prompt_tokens":-3},"b":${text}}`);
  const pieceTexts = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.oneof(valid, pieceTexts), fc.boolean(), fc.nat(), (text, isAskedEarly, cut) => {
      const bytes = Buffer.from(text);
      const at = isAskedEarly ? cut % (bytes.length + 1) : bytes.length;
      const [one, other] = [createBodyUsage("compat"), scanForUsage("compat")];
      for (const chunk of [bytes.subarray(0, at), bytes.subarray(at)]) {
        one.push(chunk);
        other.push(chunk);
        assert.deepEqual([one.end(), one.isDoubtful], [other.end(), other.isDoubtful], text);
      }
    }),
    { numRuns: 5_000, verbose: true },
  );
});

test("the definitions of the messages dialect apply to its bodies", () => {
  const text = JSON.stringify({
    content: [],
    usage: { input_tokens: 8, cache_read_input_tokens: 12, output_tokens: 5 },
  });
  assert.deepEqual([read(text, [], "messages")?.inputTokens, read(text, [], "messages")?.cachedInputTokens], [20, 12]);
});
