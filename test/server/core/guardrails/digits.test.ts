/** Digits of every script. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { digitBlock, foldDigits } from "../../../../src/server/core/guardrails/index.ts";

test("every decimal digit that the runtime knows is in the table, and nothing else", () => {
  const isDigit = /^\p{Nd}$/u;
  let count = 0;
  for (let codePoint = 0; codePoint <= 0x1ffff; codePoint += 1) {
    const block = digitBlock(codePoint);
    if (isDigit.test(String.fromCodePoint(codePoint))) {
      count += 1;
      assert.ok(block >= 0 && codePoint - block < 10, codePoint.toString(16));
      assert.match(String.fromCodePoint(block), isDigit);
    } else assert.ok(block < 0 || codePoint > 0xffff, codePoint.toString(16));
  }
  assert.ok(count >= 680, `${count}`);
});

test("a text is folded, whatever stands between its digits", () => {
  assert.equal(foldDigits("a٣b𝟗-4߁"), "a3b9-41");
});
