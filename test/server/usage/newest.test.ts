/** The newest requests, in order, whatever came before them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createNewestRows } from "../../../src/server/usage/index.ts";

test("the last requests are kept, newest first, for every count and any order of arrival", () => {
  const rows = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 40 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), rows, fc.nat(40), (size, input, readAt) => {
      const newest = createNewestRows<number>(size, (row) => row);
      input.forEach((one, at) => {
        newest.add(one);
        if (at === readAt) newest.read();
      });
      assert.deepEqual(
        newest.read(),
        input
          .toSorted((a, b) => a - b)
          .slice(-size)
          .reverse(),
      );
    }),
  );
});

test("a reader keeps its own snapshot, and a waiting reader is called once", () => {
  const newest = createNewestRows<string>(2, () => 0);
  newest.add("a");
  const read = newest.read();
  let called = 0;
  newest.awaitChange(() => {
    called += 1;
  });
  newest.add("b");
  newest.add("c");
  assert.equal(called, 1);
  assert.deepEqual(read, ["a"]);
  assert.deepEqual(newest.read(), ["c", "b"]);
  newest.awaitChange(() => {
    called += 1;
  });
  newest.awaitChange(undefined);
  newest.add("d");
  assert.equal(called, 1);
});
