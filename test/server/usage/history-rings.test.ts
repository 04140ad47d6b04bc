/** Ring buffers of history: how many buckets are kept, which are dropped, and the limit of series. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createHistory, HOUR, MAX_SERIES, QUARTER_HOUR } from "../../../src/server/usage/index.ts";

const START = Date.UTC(2026, 10, 20);

for (const [name, span] of Object.entries({ QUARTER_HOUR, HOUR })) {
  const { bucketMs, bucketCount } = span;
  const at = (bucket: number): number => START + bucket * bucketMs;

  test(`${name} keeps ${bucketCount} buckets of each series and forgets a series without newer ones`, () => {
    const history = createHistory<number>(span);
    for (let bucket = 0; bucket < 200; bucket += 1) {
      const points = [{ kind: "backends", name: "a", at: at(bucket), measures: bucket }];
      if (bucket < 50) points.push({ kind: "backends", name: "b", at: at(bucket), measures: bucket });
      history.add(points, at(bucket));
      const read = history.read();
      const ofA = read.filter((point) => point.name === "a").map(({ measures }) => measures);
      assert.deepEqual([ofA.length, ofA.at(-1)], [Math.min(bucket + 1, bucketCount), bucket]);
      const ofB = read.filter((point) => point.name === "b").length;
      assert.equal(ofB, Math.max(0, Math.min(50, bucket + 1) - Math.max(0, bucket + 1 - bucketCount)));
    }
  });

  test(`${name} records at most ${MAX_SERIES} series, and a forgotten one makes room`, () => {
    const history = createHistory<null>(span);
    const points = Array.from({ length: MAX_SERIES + 5 }, (_, n) => ({
      ...{ kind: "models", name: `m-${n}`, at: START, measures: null },
    }));
    history.add(points, START);
    assert.equal(history.read().length, MAX_SERIES);
    history.add([{ kind: "models", name: "new", at: at(bucketCount), measures: null }], at(bucketCount));
    assert.deepEqual(
      history.read().map((point) => point.name),
      ["new"],
    );
  });
}
