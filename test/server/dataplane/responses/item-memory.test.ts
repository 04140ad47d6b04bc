import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createItemMemory } from "../../../../src/server/dataplane/responses/item-memory.ts";

const HOUR = 3_600_000;
const COST = 256;
const size = (item: string): number => 2 * item.length + COST;

test("an item can be recalled only by its caller, for an hour", () => {
  let now = 0;
  const memory = createItemMemory({ maxBytes: 1 << 20, now: () => now });
  memory.remember("a", "msg_1", "{}");
  assert.equal(memory.recall("a", "msg_1"), "{}");
  assert.equal(memory.recall("b", "msg_1"), undefined);
  now = HOUR - 1;
  assert.equal(memory.recall("a", "msg_1"), "{}");
  now = HOUR;
  assert.equal(memory.recall("a", "msg_1"), undefined);
  assert.equal(memory.bytes(), 0);
});

test("expired items are removed when the next one arrives", () => {
  let now = 0;
  const memory = createItemMemory({ maxBytes: 1 << 20, now: () => now });
  memory.remember("a", "msg_1", "x".repeat(1_000));
  now = HOUR;
  memory.remember("b", "msg_2", "{}");
  assert.equal(memory.bytes(), size("{}"));
});

test("a caller's oldest items are dropped above a quarter of the memory, and others lose nothing", () => {
  const item = "x".repeat(372); // 1,000 bytes each
  const memory = createItemMemory({ maxBytes: 16_000, now: () => 0 });
  memory.remember("quiet", "msg_q", item);
  for (let at = 0; at < 100; at++) memory.remember("loud", `msg_${at}`, item);
  assert.equal(memory.recall("quiet", "msg_q"), item);
  assert.equal(memory.recall("loud", "msg_95"), undefined);
  for (const kept of [96, 97, 98, 99]) assert.equal(memory.recall("loud", `msg_${kept}`), item);
});

test("an item larger than a caller's share is not kept, and none is kept without room", () => {
  const memory = createItemMemory({ maxBytes: 4_000, now: () => 0 });
  memory.remember("a", "msg_1", "x".repeat(400));
  assert.equal(memory.recall("a", "msg_1"), undefined);
  const none = createItemMemory({ maxBytes: 0, now: () => 0 });
  none.remember("a", "msg_1", "{}");
  assert.equal(none.recall("a", "msg_1"), undefined);
});

test("a response is forgotten with all of its items, and only for its caller", () => {
  const memory = createItemMemory({ maxBytes: 1 << 20, now: () => 0 });
  for (const id of ["msg_1", "rs_1", "msg_2"]) memory.remember("a", id, "{}");
  const isOfOne = (id: string): boolean => id.endsWith("_1");
  assert.equal(memory.forget("b", isOfOne), false);
  assert.equal(memory.forget("a", isOfOne), true);
  assert.equal(memory.forget("a", isOfOne), false);
  assert.equal(memory.recall("a", "msg_2"), "{}");
});

test("in any sequence the limits are respected and the counters match the content", (t) => {
  const seed = Date.now();
  t.diagnostic(`seed ${seed}`);
  const step = fc.record({
    caller: fc.constantFrom("a", "b", "c"),
    id: fc.nat(20).map((at) => `msg_${at}`),
    length: fc.nat(2_000),
    later: fc.nat(HOUR / 4),
    forgets: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      let now = 0;
      const maxBytes = 12_000;
      const memory = createItemMemory({ maxBytes, now: () => now });
      for (const { caller, id, length, later, forgets } of steps) {
        now += later;
        if (forgets) memory.forget(caller, (it) => it === id);
        else memory.remember(caller, id, "x".repeat(length));
        assert.ok(memory.bytes() <= maxBytes && memory.bytes() >= 0);
        const isKept = !forgets && size("x".repeat(length)) <= maxBytes / 4;
        assert.equal(memory.recall(caller, id)?.length, isKept ? length : undefined);
      }
      now += HOUR;
      memory.remember("z", "msg_0", "");
      assert.equal(memory.bytes(), COST);
    }),
    { seed },
  );
});
