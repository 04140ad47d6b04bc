/** Truncated values: longest first, deterministic, and never cut inside a character. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cutText, shrinkToFit, type TruncatedValue } from "../../src/base/truncate-values.ts";

const within =
  (bytes: number) =>
  (value: TruncatedValue): string | undefined => {
    const text = JSON.stringify(value);
    return Buffer.byteLength(text) <= bytes ? text : undefined;
  };

test("a value that fits is unchanged", () => {
  const value = { a: [1, "two", null, true], b: { c: "é" } };
  assert.equal(shrinkToFit(value, within(1_000)), JSON.stringify(value));
});

test("the longest text is truncated first, then lists, then the rest", () => {
  const value = { long: "x".repeat(9_000), short: "y".repeat(100), list: [1, 2, 3] };
  const cut = JSON.parse(shrinkToFit(value, within(1_000)) ?? "");
  assert.match(cut.long, /^x{700}…$/);
  assert.deepEqual({ ...cut, long: "" }, { ...value, long: "" });
  const list = JSON.parse(
    shrinkToFit(
      Array.from({ length: 500 }, (_, at) => at),
      within(100),
    ) ?? "",
  );
  assert.deepEqual([list[0], list.at(-1)], [0, "…"]);
  const members = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`n${at}`, at]));
  assert.deepEqual(JSON.parse(shrinkToFit(members, within(40)) ?? ""), { n0: 0, n1: 1, n2: 2, n3: 3, "…": 496 });
});

test("the result is empty if even the smallest form is too large", () => {
  assert.equal(shrinkToFit({ a: 1 }, within(2)), undefined);
});

test("a surrogate pair is not split, and a lone surrogate is replaced", () => {
  assert.equal(cutText("ab😀", 3), "ab…");
  assert.equal(cutText("ab😀", 4), "ab😀");
  assert.equal(
    shrinkToFit("a\ud800", (value) => value),
    "a\ufffd",
  );
});

test("the truncated form of any value is valid JSON within the limit, and deterministic", () => {
  fc.assert(
    fc.property(
      fc.anything({ withBigInt: true, withNullPrototype: true }),
      fc.integer({ min: 20, max: 500 }),
      (value, bytes) => {
        const text = shrinkToFit(value, within(bytes));
        assert.equal(text, shrinkToFit(value, within(bytes)));
        if (text === undefined) return;
        assert.ok(text.isWellFormed() && Buffer.byteLength(text) <= bytes);
        JSON.parse(text);
      },
    ),
  );
});
