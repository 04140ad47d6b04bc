/** Parsing of evaluation data, and errors in invalid data. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  caseOf,
  createNameNormalizer,
  type EvalCase,
  linesOf,
  sentencesOf,
} from "../../../src/cli/guardrail-eval/index.ts";
import { UsageError } from "../../../src/cli/parse-flags.ts";

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const ignore = (): void => undefined;
const read = (text: string) => caseOf({ number: 7, text }, "data.jsonl", ignore);

test("a line is a case: places are byte offsets in ascending order, and missing marks are unmarked", () => {
  const spans = [
    { start: 3, end: 5, type: "B" },
    { start: 0, end: 2, type: "A" },
  ];
  const { file, line, ...rest } = read(JSON.stringify({ text: "é x9", spans, kind: "output" })) ?? assert.fail();
  assert.deepEqual([file, line], ["data.jsonl", 7]);
  const marks = [spans[1], spans[0]];
  assert.deepEqual(rest, { text: "é x9", spans: marks, labels: undefined, tags: [], kind: "output", system: "" });
  assert.equal(read("  "), undefined);
});

test("an invalid line is refused with its place and the reason", () => {
  const span = (start: unknown, end: unknown, type: unknown = "A") =>
    JSON.stringify({ text: "é x", spans: [{ start, end, type }] });
  const refused: readonly (readonly [string, RegExp])[] = [
    ["{", /not a JSON object/],
    ["[]", /not a JSON object/],
    ["{}", /"text" is missing/],
    ['{"text":"a","spans":{}}', /"spans" is not a list/],
    ['{"text":"a","labels":[1]}', /"labels" is not a list of texts/],
    ['{"text":"a","kind":"usr"}', /"kind" is system, user, /],
    ['{"text":"a","system":1}', /"system" is not a string/],
    [span(0, 5), /ends at 5, after the end of the text, which has 4 bytes/],
    [span(1, 3), /offset 1 of A lies within a character/],
    [span(2, 2), /does not come after its start/],
    [span(-1, 2), /byte offsets/],
    [span(0, 1.5), /byte offsets/],
    [span(0, 2, ""), /"type" is missing/],
  ];
  for (const [line, message] of refused) {
    assert.throws(
      () => read(line),
      (error: Error) => error.message.startsWith("data.jsonl:7: ") && message.test(error.message),
      line,
    );
  }
});

test("an unknown key is reported with the closest known one", () => {
  const reported: string[] = [];
  caseOf({ number: 1, text: '{"text":"a","span":[]}' }, "d", (_, message) => reported.push(message));
  assert.deepEqual(reported, [`d:1: the key "span" is not read (did you mean 'spans'?)`]);
});

test("lines are the same however the bytes are cut; byte order marks and CR are dropped", async () => {
  const bytes = Buffer.from("\ufeffé\r\n\nlast");
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const lines = await all(linesOf([bytes.subarray(0, cut), bytes.subarray(cut)], "f"));
    assert.deepEqual(
      lines.map(({ text }) => text),
      ["é", "", "last"],
      `cut at ${cut}`,
    );
  }
  await assert.rejects(
    all(linesOf([Buffer.from("ok\n12345")], "f", 4)),
    /^DataError: f:2: the line is longer than 4 bytes/,
  );
  await assert.rejects(all(linesOf([Buffer.from([65, 10, 0xff])], "f")), /f:2: the line is not valid UTF-8/);
});

async function spansOf(text: string): Promise<readonly EvalCase[]> {
  return all(sentencesOf(linesOf([Buffer.from(text)], "f"), "f", ignore));
}

test("each tag scheme of CoNLL gives the same spans", async () => {
  const schemes = {
    bio: ["O", "B-per", "I-per", "B-per", "O", "B-loc"],
    iob1: ["O", "I-per", "I-per", "B-per", "O", "I-loc"],
    bioes: ["O", "B-per", "E-per", "S-per", "O", "S-loc"],
    bilou: ["O", "B-per", "L-per", "U-per", "O", "U-loc"],
  };
  for (const [scheme, tags] of Object.entries(schemes)) {
    const words = ["à", "bb", "c", "d", "e", "ff"];
    const [only] = await spansOf(words.map((word, at) => `${word}\tx\t${tags[at]}`).join("\n"));
    const expected = [
      { start: 3, end: 7, type: "per" },
      { start: 8, end: 9, type: "per" },
      { start: 12, end: 14, type: "loc" },
    ];
    assert.deepEqual(only?.spans, expected, scheme);
    assert.equal(only?.text, "à bb c d e ff");
  }
});

test("sentences end at blank lines; document markers and comments are not tokens", async () => {
  const cases = await spansOf("-DOCSTART- O\n\n# id = 1\na LOC\nb LOC\n  \n\n# O\nc B-X\n");
  assert.deepEqual(
    cases.map(({ text, line, spans }) => [text, line, spans]),
    [
      ["a b", 4, [{ start: 0, end: 3, type: "LOC" }]],
      ["# c", 8, [{ start: 2, end: 3, type: "X" }]],
    ],
  );
});

test("types are compared without case, category and former name", () => {
  const name = createNameNormalizer(["corporation=ORGANIZATION"], ["EMAIL_ADDRESS"]);
  assert.equal(name("pii/email_address"), "EMAIL_ADDRESS");
  assert.deepEqual([name("per"), name("Gpe"), name("Corporation")], ["PERSON", "LOCATION", "ORGANIZATION"]);
  assert.equal(name("INJECTION"), "INJECTION");
  assert.throws(() => createNameNormalizer(["x"], []), UsageError);
});
