import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FifoMap } from "../../src/base/fifo-map.ts";

test("a FIFO map behaves like a map, whatever is set and deleted", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("set" as const), key: fc.nat(9), value: fc.nat() }),
    fc.record({ kind: fc.constant("delete" as const), key: fc.nat(9) }),
    fc.record({ kind: fc.constant("drop oldest" as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const model = new Map<number, number>();
      const map = new FifoMap<number, number>();
      for (const each of steps) {
        if (each.kind === "set") {
          model.set(each.key, each.value);
          map.set(each.key, each.value);
        } else {
          const key = each.kind === "delete" ? each.key : map.oldest()?.key;
          if (key !== undefined) assert.equal(map.delete(key), model.delete(key));
        }
        const [first] = model;
        const oldest = map.oldest();
        assert.deepEqual(oldest && [oldest.key, oldest.value], first);
        assert.equal(map.size, model.size);
      }
      assert.deepEqual([...map.values()], [...model.values()]);
      for (let key = 0; key < 10; key++) assert.equal(map.get(key), model.get(key));
    }),
  );
});

test("values may be deleted while a FIFO map is iterated", () => {
  const map = new FifoMap<number, number>();
  for (const key of [1, 2, 3, 4]) map.set(key, key);
  const seen: number[] = [];
  for (const value of map.values()) {
    seen.push(value);
    map.delete(value);
  }
  assert.deepEqual(seen, [1, 2, 3, 4]);
  assert.equal(map.size, 0);
  assert.equal(map.oldest(), undefined);
});
