/** The in-memory part of the log, compared with a complete list. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createLogIndex } from "../../../../src/server/cluster/storage/log-index.ts";
import type { Entry } from "../../../../src/server/core/raft/index.ts";

const OVERHEAD = 50;
const MAX_CACHED = 2_000;

type Step =
  | {
      readonly kind: "append";
      readonly back: number;
      readonly count: number;
      readonly size: number;
      readonly newer: boolean;
    }
  | { readonly kind: "compact"; readonly part: number }
  | { readonly kind: "reset"; readonly ahead: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("append" as const),
      back: fc.oneof(fc.constant(0), fc.nat({ max: 12 })),
      count: fc.integer({ min: 1, max: 12 }),
      size: fc.nat({ max: 400 }),
      newer: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("compact" as const), part: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reset" as const), ahead: fc.nat({ max: 20 }) }) },
);

test("terms, sizes and the newest entries match a list after any appends, compactions and resets", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const log = createLogIndex({ baseIndex: 0, overheadBytes: OVERHEAD, maxCachedBytes: MAX_CACHED });
      let base = 0;
      let model: Entry[] = [];
      for (const each of steps) {
        if (each.kind === "append") {
          const from = Math.max(base + 1, base + model.length + 1 - each.back);
          model = model.slice(0, from - base - 1);
          const term = (model.at(-1)?.term ?? 1) + (each.newer ? 1 : 0);
          for (let index = from; index < from + each.count; index++) {
            const entry: Entry = { index, term, kind: "normal", data: new Uint8Array(each.size) };
            log.append(entry, OVERHEAD + each.size);
            model.push(entry);
          }
        } else if (each.kind === "compact") {
          const to = base + Math.floor(each.part * model.length);
          log.compact(to);
          model = model.slice(to - base);
          base = to;
        } else {
          base += model.length + each.ahead;
          log.reset(base);
          model = [];
        }
        assert.deepEqual([log.baseIndex, log.lastIndex], [base, base + model.length]);
        assert.equal(
          log.byteLength,
          model.reduce((sum, { data }) => sum + OVERHEAD + data.length, 0),
        );
        assert.deepEqual([log.term(base), log.term(base + model.length + 1)], [undefined, undefined]);
        let cached = 0;
        for (const entry of model) {
          assert.equal(log.term(entry.index), entry.term);
          assert.equal(log.dataLength(entry.index), entry.data.length);
          const held = log.cached(entry.index);
          if (held === undefined) continue;
          assert.equal(held, entry);
          cached += OVERHEAD + entry.data.length;
        }
        assert.ok(cached <= MAX_CACHED);
      }
      const newest = model.at(-1);
      const wasCut = newest === undefined || log.cached(newest.index) === newest || steps.at(-1)?.kind !== "append";
      assert.ok(wasCut, "the newest entry is in memory");
    }),
  );
});
