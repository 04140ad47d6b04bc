import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClusterPoint, fitModel, maxNodes, predict, valueAt } from "../bench/scaling/model.ts";
import { chartOf } from "../bench/state/chart.ts";
import { type Curve, judgeCurve, shortNumber } from "../bench/state/points.ts";

const curve = (growth: Curve["growth"], ...values: readonly number[]): Curve => ({
  of: "keys",
  figure: "a figure",
  unit: "ms",
  growth,
  points: values.map((value, at) => ({ size: 1_000 * 10 ** at, value })),
});

test("a curve is judged by its growth between the two largest sizes, and a flat one by its ends", () => {
  const rows: readonly (readonly [Curve, isWithin: boolean])[] = [
    [curve("flat", 80, 85, 82), true],
    [curve("flat", 80, 85, 200), false],
    [curve("linear", 100, 120, 400), true],
    [curve("linear", 100, 1_000, 10_000), true],
    [curve("linear", 1, 10, 300), false],
    [curve("linear", 5), true],
  ];
  for (const [given, isWithin] of rows)
    assert.equal(judgeCurve(given).isWithin, isWithin, JSON.stringify(given.points));
  const { exponent, each } = judgeCurve(curve("linear", 100, 1_090, 10_990));
  assert.ok(Math.abs(exponent - 1) < 0.01);
  assert.equal(each, 0.11);
});

test("a chart has a panel per curve, with its values and escaped text", () => {
  const svg = chartOf("Keys & more <1>", [judgeCurve(curve("flat", 1, 2)), judgeCurve(curve("linear", 1, 100))]);
  assert.match(svg, /^<svg .*<\/svg>\n$/s);
  assert.ok(svg.includes("Keys &amp; more &lt;1>"));
  assert.equal(svg.match(/<polyline /g)?.length, 2);
  assert.equal(svg.match(/<circle /g)?.length, 4);
  assert.ok(!svg.includes("NaN"));
  assert.deepEqual([1_000_000, 12_345, 1_234, 0.1234, Number.NaN].map(shortNumber), [
    "1 M",
    "12.3 k",
    "1230",
    "0.123",
    "-",
  ]);
});

test("the cluster model fits points on a line, and says for how many nodes a leader suffices", () => {
  const point = (followers: number): ClusterPoint => ({
    followers,
    leaderUsAWrite: 200 + 50 * followers,
    followerUsAWrite: followers === 0 ? 0 : 100,
    leaderUsIdle: 1_000 + 100 * followers,
    bytesAWrite: followers === 0 ? 0 : 1_200,
  });
  const model = fitModel([0, 2, 4].map(point));
  assert.ok(Math.abs(valueAt(model.leaderAWrite, 6) - 500) < 1e-6);
  const load = { requestUs: 100, writesASecond: 4 };
  const ten = predict(model, load, 10);
  assert.equal(ten.requestsASecond, 70_000);
  assert.equal(ten.writesASecond, 40);
  assert.ok(Math.abs(ten.leaderShare - (40 * 650 + 1_900) / 1e6) < 1e-9);
  assert.equal(ten.bytesASecond, 40 * 9 * 1_200);
  const most = maxNodes(model, load, 0.5);
  assert.ok(predict(model, load, most).leaderShare <= 0.5 && predict(model, load, most + 1).leaderShare > 0.5);
});
