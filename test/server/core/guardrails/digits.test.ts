/** Digits of every script. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { digitBlock, foldDigits } from "../../../../src/server/core/guardrails/index.ts";

test("the table has exactly the decimal digits that the runtime knows", () => {
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

test("a text is normalized, whatever separates its digits", () => {
  assert.equal(foldDigits("a٣b𝟗-4߁"), "a3b9-41");
});
