import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cellsOf, cutToCells, escapeControls, escapeControlsOfLines } from "../../src/base/terminal-text.ts";

const CELLS: readonly (readonly [text: string, cells: number])[] = [
  ["", 0],
  ["abc", 3],
  ["naïve", 5],
  ["nai\u0308ve", 5],
  ["漢字", 4],
  ["ｆｕｌｌ", 8],
  ["한글", 4],
  ["🚀", 2],
  ["a\u200db", 2],
  ["🇩🇪", 2],
  ["a\u00adb", 3],
  ["→", 1],
];

for (const [text, cells] of CELLS) {
  test(`${JSON.stringify(text)} takes ${cells} cells`, () => assert.equal(cellsOf(text), cells));
}

const CUT: readonly (readonly [text: string, cells: number, cut: string])[] = [
  ["abc", 3, "abc"],
  ["abcd", 3, "ab…"],
  ["abcd", 1, "…"],
  ["漢字", 4, "漢字"],
  ["漢字", 3, "漢…"],
  ["漢字", 2, "…"],
  ["🚀🚀", 3, "🚀…"],
];

for (const [text, cells, cut] of CUT) {
  test(`${JSON.stringify(text)} cut to ${cells} cells is ${cut}`, () => assert.equal(cutToCells(text, cells), cut));
}

test("cut text is never wider than requested, and a short text stays whole", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 20 }), (text, cells) => {
      const cut = cutToCells(text, cells);
      assert.ok(cellsOf(cut) <= cells);
      if (cellsOf(text) <= cells) assert.equal(cut, text);
    }),
  );
});

test("no terminal escape is left", () => {
  assert.equal(escapeControls("a\tb\r\n\u001b[31m\u009b\u007f"), "a\\tb\\r\\n\\u001b[31m\\u009b\\u007f");
  assert.equal(escapeControls("\u202eabc\u2066\u2028\ud800"), "\\u202eabc\\u2066\\u2028\\ud800");
  assert.equal(escapeControls("漢字 🚀 naïve"), "漢字 🚀 naïve");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      assert.doesNotMatch(escapeControls(text), /[\x00-\x1f\x7f-\x9f]/);
    }),
  );
});

test("zero-width characters are shown as escapes, except joiners that a script or an emoji needs", () => {
  const rows = [
    ["pro\u200bd", "pro\\u200bd"],
    ["prod\u2060", "prod\\u2060"],
    ["a\u200db", "a\\u200db"],
    ["\u200cprod", "\\u200cprod"],
    ["x\u180e\u034f", "x\\u180e\\u034f"],
    ["\u{e0041}z", "\\u{e0041}z"],
    ["\u3164", "\\u3164"],
    ["👩\u200d💻", "👩\u200d💻"],
    ["می\u200cخواهم", "می\u200cخواهم"],
    ["न\u094d\u200dत", "न\u094d\u200dत"],
  ] as const;
  for (const [text, shown] of rows) assert.equal(escapeControls(text), shown);
});

test("line breaks are kept if allowed", () => {
  assert.equal(escapeControlsOfLines("a\n\tb\u001b\r\n"), "a\n\tb\\u001b\\r\n");
});
