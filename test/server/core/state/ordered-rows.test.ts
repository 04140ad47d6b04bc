import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createRows } from "../../../../src/server/core/state/index.ts";

const keys = fc.tuple(fc.constantFrom("a/", "b/", "b/c/"), fc.nat(3_000)).map(([table, n]) => `${table}${n}`);

test("rows behave like a map with sorted keys", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ key: keys, value: fc.option(fc.string({ maxLength: 4 }), { nil: undefined }) }), {
        maxLength: 3_000,
        size: "max",
      }),
      (mutations) => {
        const rows = createRows();
        const model = new Map<string, string>();
        for (const mutation of mutations) {
          rows.apply([mutation]);
          if (mutation.value === undefined) model.delete(mutation.key);
          else model.set(mutation.key, mutation.value);
        }
        const sorted = [...model].sort(([a], [b]) => (a < b ? -1 : 1));
        assert.deepEqual([...rows.scan("")], sorted);
        for (const prefix of ["a/", "b/", "b/c/", "b/c/1", "c", "a/3000"]) {
          assert.deepEqual(
            [...rows.scan(prefix)],
            sorted.filter(([key]) => key.startsWith(prefix)),
          );
        }
        for (const after of ["a/", "a/1", "a/15", "a/2999", "a/9~", sorted[0]?.[0] ?? "a/0"]) {
          assert.deepEqual(
            [...rows.scan("a/", after)],
            sorted.filter(([key]) => key.startsWith("a/") && key > after),
          );
        }
        assert.equal(rows.size, model.size);
        assert.equal(
          rows.byteLength,
          sorted.reduce((sum, [key, value]) => sum + key.length + value.length, 0),
        );
      },
    ),
    { numRuns: 30 },
  );
});

test("adding keys in any order and removing all leaves nothing behind", () => {
  const rows = createRows();
  const count = 20_000;
  for (let n = 0; n < count; n += 1) rows.apply([{ key: `k/${(n * 7_919) % count}`, value: "v" }]);
  const order = [...rows.scan("k/")].map(([key]) => key);
  assert.deepEqual(order, [...new Set(order)].sort());
  assert.equal(order.length, count);
  for (let n = 0; n < count; n += 1) rows.apply([{ key: `k/${(n * 104_729) % count}`, value: undefined }]);
  assert.deepEqual([...rows.scan("")], []);
  assert.equal(rows.byteLength, 0);
});

test("a table's version changes with its own rows only", () => {
  const rows = createRows();
  const versions = () => [rows.version("key/"), rows.version("susp/"), rows.version("")] as const;
  const [key, susp, all] = versions();
  rows.apply([{ key: "key/a", value: "1" }]);
  const after = versions();
  assert.ok(after[0] > key && after[1] === susp && after[2] > all);
  rows.apply([
    { key: "key/a", value: "1" },
    { key: "key/b", value: undefined },
  ]);
  assert.deepEqual(versions(), after);
  rows.clear();
  const cleared = versions();
  assert.ok(cleared[0] > after[0] && cleared[1] > after[1] && cleared[2] > after[2]);
});
