import assert from "node:assert/strict";
import { test } from "node:test";
import {
  abort,
  chargeRunning,
  flatDemand,
  type Reservation,
  release,
  reserve,
  settle,
  startNextAttempt,
  takeReport,
} from "../../../../src/server/core/budgets/index.ts";
import { BUCKET, createCluster, createNode, limitOf, MINUTE, type Node } from "./cluster.ts";

/** A node with a running request of `units`, and `free` more available. */
function under(units: number, free = 0, isSession = false): { readonly node: Node; readonly call: Reservation } {
  const node = createNode(createCluster(["n1"]), "n1", limitOf(1_000));
  const spare = node.take(free);
  const call = reserve(node.ledger, node.bucket(), flatDemand(units), node.now, { isSession });
  node.exchange();
  assert.equal(call.state, "held");
  release(node.ledger, spare, node.now);
  return { node, call };
}

test("a settled request is charged what it used, and the rest is free again", () => {
  const cases: readonly (readonly [reserved: number, used: number, free: number])[] = [
    [100, 60, 40],
    [100, 100, 0],
    [100, 0, 100],
    [100, 130, -30],
    [100, 59.2, 40],
  ];
  for (const [reserved, used, free] of cases) {
    const { node, call } = under(reserved);
    settle(node.ledger, call, used, node.now);
    assert.deepEqual([call.state, call.spent, node.free()], ["closed", Math.ceil(used), free]);
    assert.equal(node.ledger.counts.excess, Math.max(0, used - reserved));
  }
});

test("settling, aborting or releasing again changes nothing", () => {
  const ends: readonly ((node: Node, call: Reservation) => void)[] = [
    ({ ledger, now }, call) => settle(ledger, call, 30, now),
    ({ ledger, now }, call) => abort(ledger, call, 30, now),
    ({ ledger, now }, call) => release(ledger, call, now),
    ({ ledger, now }, call) => chargeRunning(ledger, call, 300, now),
    ({ ledger, now }, call) => startNextAttempt(ledger, call, now),
  ];
  for (const first of ends.slice(0, 3)) {
    const { node, call } = under(100);
    first(node, call);
    const before = { ...node.share() };
    for (const again of ends) again(node, call);
    assert.deepEqual({ ...node.share() }, before);
  }
});

test("a stream is charged as it flows, each part once, however often it is reported", () => {
  const { node, call } = under(100, 50);
  for (const used of [0, 10, 10, 40, 30, 40]) chargeRunning(node.ledger, call, used, node.now);
  assert.deepEqual([call.spent, node.share()?.spent, node.share()?.reserved, node.free()], [40, 40, 60, 50]);
  assert.equal(chargeRunning(node.ledger, call, 120, node.now), true);
  assert.deepEqual([node.share()?.reserved, node.free()], [0, 30]);
  assert.equal(chargeRunning(node.ledger, call, 151, node.now), false);
  settle(node.ledger, call, 151, node.now);
  assert.deepEqual([call.spent, node.share()?.spent, node.free()], [151, 151, -1]);
});

test("a stream and a whole answer with the same usage are charged alike", () => {
  const streamed = under(100);
  for (const used of [7, 25, 61]) chargeRunning(streamed.node.ledger, streamed.call, used, streamed.node.now);
  settle(streamed.node.ledger, streamed.call, 77, streamed.node.now);
  const single = under(100);
  settle(single.node.ledger, single.call, 77, single.node.now);
  assert.equal(streamed.node.share()?.spent, single.node.share()?.spent);
  assert.equal(streamed.node.free(), single.node.free());
});

test("a final count below the running one is what is charged", () => {
  const { node, call } = under(100);
  chargeRunning(node.ledger, call, 90, node.now);
  settle(node.ledger, call, 70, node.now);
  assert.deepEqual([call.spent, node.share()?.spent, node.free()], [70, 70, 30]);
});

test("a reported count that is corrected downward is credited to the next request", () => {
  const { node, call } = under(100);
  chargeRunning(node.ledger, call, 90, node.now);
  node.pass(600);
  node.exchange();
  settle(node.ledger, call, 70, node.now);
  node.pass(600);
  node.exchange();
  assert.equal(node.usage()?.spent, 90);
  settle(node.ledger, node.take(30), 30, node.now);
  node.pass(600);
  node.exchange();
  assert.equal(node.usage()?.spent, 100);
});

test("a broken request is charged its known usage, else its reservation, and never nothing", () => {
  const cases: readonly (readonly [flowed: number, known: number | undefined, charged: number])[] = [
    [0, undefined, 100],
    [0, 0, 100],
    [0, 35, 35],
    [40, undefined, 40],
    [40, 0, 40],
    [40, 55, 55],
    [40, 20, 40],
    [130, undefined, 130],
  ];
  for (const [flowed, known, charged] of cases) {
    const { node, call } = under(100);
    chargeRunning(node.ledger, call, flowed, node.now);
    abort(node.ledger, call, known, node.now);
    assert.deepEqual([call.spent, node.share()?.spent, node.share()?.reserved], [charged, charged, 0], String(flowed));
  }
});

test("a request that never reached an upstream is charged nothing", () => {
  const { node, call } = under(100);
  release(node.ledger, call, node.now);
  assert.deepEqual([call.spent, node.free()], [0, 100]);
});

test("failed attempts are charged their usage once, and the next attempt is reserved again", () => {
  const { node, call } = under(100, 50);
  chargeRunning(node.ledger, call, 30, node.now);
  assert.equal(startNextAttempt(node.ledger, call, node.now), true);
  assert.deepEqual([node.share()?.spent, node.share()?.reserved, node.free()], [30, 100, 20]);
  assert.equal(startNextAttempt(node.ledger, call, node.now), true);
  assert.equal(node.share()?.reserved, 100);
  settle(node.ledger, call, 80, node.now);
  assert.deepEqual([call.spent, node.share()?.spent, node.free()], [110, 110, 40]);
});

test("an attempt that cannot be reserved reports this, and is charged if it is made", () => {
  const { node, call } = under(100, 10);
  chargeRunning(node.ledger, call, 30, node.now);
  assert.equal(startNextAttempt(node.ledger, call, node.now), false);
  assert.deepEqual([node.share()?.reserved, node.free()], [70, 10]);
  abort(node.ledger, call, undefined, node.now);
  assert.equal(call.spent, 130);
});

test("a request across the end of a window is charged to the window of its admission", () => {
  const { node, call } = under(100);
  const first = node.share();
  chargeRunning(node.ledger, call, 20, node.now);
  node.pass(MINUTE);
  settle(node.ledger, call, 140, node.now);
  assert.equal(first?.spent, 140);
  assert.equal(node.share(), null);
  node.exchange();
  assert.equal(node.cluster.state.get("none"), undefined);
  assert.equal(node.ledger.counts.unreported, 0);
});

test("usage after the last report of its window is charged to the current window", () => {
  const { node, call } = under(100);
  chargeRunning(node.ledger, call, 20, node.now);
  node.pass(600);
  node.exchange();
  node.pass(3 * MINUTE);
  chargeRunning(node.ledger, call, 60, node.now);
  settle(node.ledger, call, 70, node.now);
  assert.equal(node.share()?.spent, 50);
  assert.equal(call.spent, 70);
  node.pass(600);
  node.exchange();
  assert.equal(node.usage()?.spent, 50);
  assert.equal(node.ledger.counts.unreported, 0);
});

test("a session is charged its flat cost where it began, and usage in the window in which it occurs", () => {
  const { node, call } = under(5, 200, true);
  const flat = 5;
  const first = node.share();
  assert.equal(chargeRunning(node.ledger, call, flat + 20, node.now), true);
  assert.equal(first?.spent, 25);
  node.pass(MINUTE);
  assert.equal(chargeRunning(node.ledger, call, flat + 50, node.now), false);
  assert.deepEqual([first?.spent, node.share()?.spent], [25, 30]);
  const cover = node.take(0);
  assert.equal(cover.state, "waiting");
  node.exchange();
  assert.equal(cover.state, "held");
  release(node.ledger, cover, node.now);
  assert.ok(node.free() >= 0);
  node.pass(MINUTE);
  settle(node.ledger, call, flat + 60, node.now);
  assert.deepEqual([node.share()?.spent, call.spent], [10, 65]);
});

test("a session whose flat cost is still uncharged is charged it in the window of its admission", () => {
  const { node, call } = under(5, 0, true);
  const first = node.share();
  node.pass(MINUTE + 1);
  chargeRunning(node.ledger, call, 5 + 7, node.now);
  assert.deepEqual([first?.spent, first?.reserved, node.share()?.spent], [5, 0, 7]);
});

test("a session in a spent budget is not covered", () => {
  const { node, call } = under(1, 0, true);
  const rest = node.take(999);
  node.exchange();
  assert.equal(rest.state, "held");
  assert.equal(chargeRunning(node.ledger, call, 1 + 10, node.now), false);
  const cover = node.take(0);
  node.exchange();
  assert.equal(cover.state, "exhausted");
});

test("a clock set back and forth moves no unit", () => {
  const { node, call } = under(100);
  const share = node.share();
  node.pass(-5 * MINUTE);
  chargeRunning(node.ledger, call, 30, node.now);
  node.pass(7 * MINUTE);
  settle(node.ledger, call, 60, node.now);
  assert.deepEqual([share?.spent, share?.reserved], [60, 0]);
});

test("a bucket stays while a request of it is running", () => {
  const { node, call } = under(100);
  node.pass(600);
  node.exchange();
  node.pass(10 * MINUTE);
  assert.equal(node.ledger.buckets.size, 1);
  settle(node.ledger, call, 60, node.now);
  assert.equal(node.ledger.buckets.get(BUCKET)?.shares.size, 2);
  node.pass(600);
  const report = takeReport(node.ledger, node.now);
  assert.deepEqual(
    report?.rows.map(({ spent }) => spent),
    [60],
  );
});
