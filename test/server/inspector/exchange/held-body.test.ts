import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldBody } from "../../../../src/server/inspector/exchange/held-body.ts";

test("a body in one piece is not copied", () => {
  const held = new HeldBody();
  const chunk = Buffer.from("whole");
  held.add(chunk);
  held.add(Buffer.alloc(0));
  assert.equal(held.take(), chunk);
  assert.deepEqual([held.bytes, held.take().length], [0, 0]);
});

test("pieces of any size are joined unchanged, with at most half as much memory again", () => {
  for (const size of [1, 7, 16 << 10, 100_000]) {
    const held = new HeldBody();
    const chunks = Array.from({ length: 300 }, (_, at) => Buffer.alloc(size, at));
    let taken = 0;
    for (const chunk of chunks) {
      taken += held.bytesToReserve(chunk);
      held.add(chunk);
    }
    const all = Buffer.concat(chunks);
    assert.ok(held.take().equals(all));
    assert.ok(taken <= Math.max(32 << 10, 1.5 * all.length + size), `${taken} bytes for ${all.length}`);
  }
});
