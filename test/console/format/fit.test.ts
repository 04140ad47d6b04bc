import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cellsOfLine, cutLine, fitLine, spread, wrapLine } from "../../../src/console/format/fit-line.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { LINES } from "../draw/arbitrary.ts";

test("a line that fits is unchanged", () => {
  const line = [{ text: "one " }, { text: "two", tone: "fail" as const }];
  assert.deepEqual(cutLine(line, 7), line);
});

test("a truncated line ends with a mark in its last cell", () => {
  assert.equal(textOfLine(cutLine([{ text: "one " }, { text: "two" }], 6)), "one t…");
  assert.equal(textOfLine(cutLine([{ text: "one " }, { text: "two" }], 4)), "one…");
  assert.equal(textOfLine(cutLine([{ text: "模型网关" }], 6)), "模型…");
});

test("controls are spelled out and never reach the screen", () => {
  assert.equal(textOfLine(cutLine([{ text: "a\x1b[2Jb\n" }], 40)), "a\\u001b[2Jb\\n");
});

test("the right part of a line stays when both do not fit", () => {
  assert.equal(textOfLine(spread([{ text: "a long left part" }], [{ text: "14:02Z" }], 14)), "a long… 14:02Z");
});

test("text wraps at words, and long words are broken", () => {
  const broken = (text: string, cells: number) => wrapLine([{ text }], cells).map(textOfLine);
  assert.deepEqual(broken("one two three", 7), ["one two", "three"]);
  assert.deepEqual(broken("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
});

test("a tone stays with its words when a line wraps", () => {
  const lines = wrapLine([{ text: "one " }, { text: "two three", tone: "fail" }], 7);
  assert.deepEqual(lines, [[{ text: "one " }, { text: "two", tone: "fail" }], [{ text: "three", tone: "fail" }]]);
});

test("truncated text is at most the width, fitted text exactly, and wrapping drops only blanks", () => {
  fc.assert(
    fc.property(LINES, fc.integer({ min: 2, max: 60 }), (line, cells) => {
      assert.ok(cellsOfLine(cutLine(line, cells)) <= cells);
      const fitted = cellsOfLine(fitLine(line, cells));
      assert.equal(fitted, cells);
      const wrapped = wrapLine(line, cells);
      assert.ok(wrapped.every((part) => cellsOfLine(part) <= cells));
      const letters = (text: string) => text.replace(/ /g, "");
      assert.equal(letters(wrapped.map(textOfLine).join("")), letters(textOfLine(wrapLine(line, 100_000)[0] ?? [])));
    }),
  );
});
