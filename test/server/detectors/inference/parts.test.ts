/** Parts of reading a model that the reference values do not cover. Source: guardrails reference, 2.7 and 3. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Entity, tagsOf } from "../../../../src/server/detectors/inference/reading/entities.ts";
import { joined } from "../../../../src/server/detectors/inference/reading/join-entities.ts";
import { fromHalf } from "../../../../src/server/detectors/inference/reading/scores.ts";
import { withoutMarks } from "../../../../src/server/detectors/inference/text/marks.ts";
import { placesOfCodePoints } from "../../../../src/server/detectors/inference/text/text-tokens.ts";
import { windowsOf } from "../../../../src/server/detectors/inference/text/token-windows.ts";

const TAGS: readonly (readonly [label: string, name: string, begins: boolean, ends: boolean])[] = [
  ["O", "", false, false],
  ["B-PER", "PER", true, false],
  ["I-PER", "PER", false, false],
  ["E-PER", "PER", false, true],
  ["L-PER", "PER", false, true],
  ["S-PER", "PER", true, true],
  ["U-PER", "PER", true, true],
  ["I-B-X", "B-X", false, false],
  ["ORG", "ORG", false, false],
  // Nothing else has the name `MAIL`, so it is not a prefix.
  ["E-MAIL", "E-MAIL", false, false],
];

test("label prefixes of every scheme are read, and lookalikes are not", () => {
  const tags = tagsOf(TAGS.map(([label]) => label));
  assert.deepEqual(
    tags.map(({ name, begins, ends }) => [name, begins, ends]),
    TAGS.map(([, name, begins, ends]) => [name, begins, ends]),
  );
});

const LABELS = tagsOf(["O", "B-PER", "I-PER", "B-LOC"]);
/** One token per offset. */
const places = {
  starts: Int32Array.from({ length: 40 }, (_, at) => at),
  ends: Int32Array.from({ length: 40 }, (_, at) => at + 1),
};
const entity = (first: number, last: number, label = 1, score = 0.9): Entity => ({ first, last, label, score });

const JOINS: readonly (readonly [
  what: string,
  byWindow: readonly (readonly Entity[])[],
  found: readonly (readonly number[])[],
])[] = [
  ["what one window sees whole", [[entity(2, 3)], []], [[2, 3]]],
  ["what both see", [[entity(6, 7, 1, 0.8)], [entity(6, 7)]], [[6, 7]]],
  ["what is cut is left to who sees all of it", [[entity(7, 9)], [entity(7, 11)]], [[7, 11]]],
  ["nothing, where who sees all of it finds nothing", [[entity(7, 9)], []], []],
  ["what is longer than both share is one", [[entity(2, 9)], [entity(6, 14, 2)]], [[2, 14]]],
  ["of two types the longer", [[entity(2, 9)], [entity(6, 10, 3)]], [[2, 9]]],
  ["a cut that only one window fills", [[entity(2, 9)], []], [[2, 9]]],
];

test("entities across window boundaries are joined", () => {
  const windows = windowsOf(16, 10, 4);
  assert.deepEqual(windows, [
    { from: 0, to: 10 },
    { from: 6, to: 16 },
  ]);
  for (const [what, byWindow, found] of JOINS) {
    const got: readonly (readonly number[])[] = joined(byWindow, windows, LABELS, places).map(({ first, last }) => [
      first,
      last,
    ]);
    assert.deepEqual(got, found, what);
  }
});

test("windows without overlap join an entity that continues, and not one that begins", () => {
  const windows = windowsOf(20, 10, 0);
  const spans = (label: number) =>
    joined([[entity(8, 9)], [entity(10, 11, label)]], windows, LABELS, places).map(({ first, last }) => [first, last]);
  assert.deepEqual(spans(2), [[8, 11]]);
  assert.deepEqual(spans(1), [
    [8, 9],
    [10, 11],
  ]);
});

test("every token is in a window, and the last window ends with the text", () => {
  for (let count = 0; count < 60; count++) {
    for (const [payload, stride] of [
      [1, 0],
      [8, 0],
      [8, 7],
      [10, 3],
    ] as const) {
      const windows = windowsOf(count, payload, stride);
      assert.equal(windows.at(-1)?.to ?? 0, count);
      windows.forEach(({ from, to }, at) => {
        assert.ok(to - from <= payload);
        const before = windows[at - 1];
        if (before !== undefined) assert.equal(before.to - from, stride);
      });
    }
  }
});

test("special markers are removed and mapped back", () => {
  const text = "a\u064e\u0651b\u0640\u0640c \u064e";
  const { text: view, startOf, endOf } = withoutMarks(text);
  assert.equal(view, "abc ");
  const span = (start: number, end: number) => text.slice(startOf(start), endOf(end));
  assert.deepEqual(
    [span(0, 1), span(1, 2), span(2, 3), span(0, 3)],
    ["a\u064e\u0651", "b\u0640\u0640", "c", text.slice(0, 7)],
  );
  const plain = withoutMarks("plain");
  assert.deepEqual([plain.text, plain.startOf(3), plain.endOf(5)], ["plain", 3, 5]);
});

test("code points map to UTF-16 offsets, also for a lone surrogate", () => {
  assert.equal(placesOfCodePoints("äöü漢"), undefined);
  assert.deepEqual([...(placesOfCodePoints("a😀b\ud83dc") ?? [])], [0, 1, 3, 4, 5, 6]);
});

test("binary16 numbers are read", () => {
  const bits = Uint16Array.of(0x0000, 0x8000, 0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0xfc00, 0x3555, 0x7e00);
  const values = [
    0,
    -0,
    1,
    -2,
    2 ** -24,
    65_504,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    0.333251953125,
    Number.NaN,
  ];
  assert.deepEqual([...fromHalf(bits)], values);
});
