/** Offsets in UTF-16 units and in UTF-8 bytes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { utf8Length, utf8Offsets, utf16Offsets } from "../../../../src/server/core/guardrails/index.ts";

const MIXED = "aé€😀z";

test("offsets are right for every place of a text with characters of one to four bytes", () => {
  assert.deepEqual(utf8Offsets(MIXED, [0, 1, 2, 3, 5, 6]), [0, 1, 3, 6, 10, 11]);
  assert.deepEqual(utf16Offsets(MIXED, [0, 1, 3, 6, 10, 11]), [0, 1, 2, 3, 5, 6]);
  assert.equal(utf8Length(MIXED), 11);
});

test("a place inside a character is that of its end, and one behind the text is the text's length", () => {
  assert.deepEqual(utf8Offsets(MIXED, [4, 99]), [10, 11]);
  assert.deepEqual(utf16Offsets(MIXED, [2, 7, 99]), [2, 5, 6]);
});

test("for any text the offset of a place is the length before it, and converts back", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }), (before, after) => {
      const text = before + after;
      const [offset = 0] = utf8Offsets(text, [before.length]);
      assert.equal(offset, Buffer.byteLength(before));
      assert.deepEqual(utf16Offsets(text, [offset]), [before.length]);
    }),
  );
});
