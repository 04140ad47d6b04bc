/** Buckets of a quarter of an hour: what is kept, what is forgotten, and how many series there may be. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BUCKET_MS, createHistory, KEPT_BUCKETS, MAX_SERIES } from "../../../../src/server/usage/index.ts";

const START = Date.UTC(2026, 10, 20);
const at = (bucket: number): number => START + bucket * BUCKET_MS;

test("ninety buckets are kept of each series, and one in which nothing happened any more is gone", () => {
  const history = createHistory<number>();
  for (let bucket = 0; bucket < 200; bucket += 1) {
    const points = [{ kind: "backends", name: "a", at: at(bucket), measures: bucket }];
    if (bucket < 50) points.push({ kind: "backends", name: "b", at: at(bucket), measures: bucket });
    history.add(points, at(bucket));
    const read = history.read();
    const ofA = read.filter(({ name }) => name === "a").map(({ measures }) => measures);
    assert.deepEqual([ofA.length, ofA.at(-1)], [Math.min(bucket + 1, KEPT_BUCKETS), bucket]);
    const ofB = read.filter(({ name }) => name === "b").length;
    assert.equal(ofB, Math.max(0, Math.min(50, bucket + 1) - Math.max(0, bucket + 1 - KEPT_BUCKETS)));
  }
});

test("no more series are taken up than are bounded, and one that goes makes room", () => {
  const history = createHistory<null>();
  const points = Array.from({ length: MAX_SERIES + 5 }, (_, n) => ({
    ...{ kind: "models", name: `m-${n}`, at: START, measures: null },
  }));
  history.add(points, START);
  assert.equal(history.read().length, MAX_SERIES);
  history.add([{ kind: "models", name: "new", at: at(KEPT_BUCKETS), measures: null }], at(KEPT_BUCKETS));
  assert.deepEqual(
    history.read().map(({ name }) => name),
    ["new"],
  );
});
