/** The last so many, newest first, whatever came before them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createRing } from "../../../../src/server/usage/index.ts";

test("a ring holds the last ones, newest first, at every count", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), fc.array(fc.integer(), { maxLength: 40 }), (size, given) => {
      const ring = createRing<number>(size);
      for (const one of given) ring.add(one);
      assert.deepEqual(ring.read(), given.slice(-size).reverse());
    }),
  );
});

test("who reads holds what there was, and who waits is called once", () => {
  const ring = createRing<string>(2);
  ring.add("a");
  const read = ring.read();
  let called = 0;
  ring.awaitChange(() => {
    called += 1;
  });
  ring.add("b");
  ring.add("c");
  assert.equal(called, 1);
  assert.deepEqual(read, ["a"]);
  assert.deepEqual(ring.read(), ["c", "b"]);
  ring.awaitChange(() => {
    called += 1;
  });
  ring.awaitChange(undefined);
  ring.add("d");
  assert.equal(called, 1);
});
