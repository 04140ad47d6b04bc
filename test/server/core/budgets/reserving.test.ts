import assert from "node:assert/strict";
import { test } from "node:test";
import {
  applyReportAnswer,
  bucketOf,
  createLedger,
  flatDemand,
  giveUpReport,
  hasUrgentReport,
  MAX_BUCKETS,
  refusalOf,
  release,
  reserve,
  settle,
  takeDecided,
  takeReport,
  tick,
  WAIT_MS,
} from "../../../../src/server/core/budgets/index.ts";
import { BUCKET, createCluster, createNode, limitOf, MINUTE, type Node, START } from "./cluster.ts";

const alone = (limit = 1_000): Node => createNode(createCluster(["n1"]), "n1", limitOf(limit));

/** Holds at least `units` free units. */
function provisioned(units: number, limit = 1_000): Node {
  const node = alone(limit);
  const first = node.take(units);
  node.exchange();
  assert.equal(first.state, "held");
  release(node.ledger, first, node.now);
  takeDecided(node.ledger);
  return node;
}

test("a first request waits for one answer, and later ones for none", () => {
  const node = alone();
  const first = node.take(100);
  assert.equal(first.state, "waiting");
  assert.equal(hasUrgentReport(node.ledger), true);
  assert.equal(node.exchange(), 1);
  assert.equal(first.state, "held");
  assert.deepEqual(takeDecided(node.ledger), [first]);
  assert.deepEqual(takeDecided(node.ledger), []);
  settle(node.ledger, first, 60, node.now);
  assert.equal(node.free(), 40);
  assert.equal(node.take(40).state, "held");
  assert.equal(hasUrgentReport(node.ledger), false);
});

test("of a hundred calls with room for ten, ten are admitted, on the first use of the bucket", () => {
  const node = alone(10);
  const calls = Array.from({ length: 100 }, () => node.take(1));
  node.exchange();
  assert.equal(calls.filter(({ state }) => state === "held").length, 10);
  assert.equal(calls.filter(({ state }) => state === "exhausted").length, 90);
  assert.equal(takeDecided(node.ledger).length, 100);
  for (const call of calls) settle(node.ledger, call, 1, node.now);
  node.pass(600);
  node.exchange();
  assert.deepEqual([node.usage()?.spent, node.usage()?.open], [10, 10]);
});

test("of a hundred calls over three nodes with room for ten, ten are admitted in all", () => {
  const cluster = createCluster(["n1", "n2", "n3"]);
  const nodes = ["n1", "n2", "n3"].map((id) => createNode(cluster, id, limitOf(10)));
  const calls = Array.from({ length: 100 }, (_, at) => nodes[at % 3]!.take(1));
  // Every node asks before any is answered.
  for (let round = 0; round < 20; round += 1) {
    const reports = nodes.map(({ ledger }) => takeReport(ledger, cluster.now));
    reports.forEach((report, at) => {
      if (report !== undefined) applyReportAnswer(nodes[at]!.ledger, report, cluster.answer(report), cluster.now);
    });
  }
  assert.equal(calls.filter(({ state }) => state === "held").length, 10);
  assert.equal(calls.filter(({ state }) => state === "exhausted").length, 90);
});

test("a hundred calls with different costs fill the budget and do not exceed it", () => {
  const node = alone(100);
  const calls = Array.from({ length: 100 }, (_, at) => node.take(1 + (at % 19)));
  node.exchange();
  const held = calls.filter(({ state }) => state === "held");
  const sum = held.reduce((all, { amount }) => all + amount, 0);
  assert.ok(sum <= 100);
  for (const call of calls.filter(({ state }) => state === "exhausted")) assert.ok(call.hard > 100 - sum);
});

test("`exhausted` says when the window ends, and `unavailable` that a retry is possible in a second", () => {
  const node = alone(5);
  node.pass(12_345);
  const large = node.take(6);
  assert.deepEqual(refusalOf(large, node.now), {
    code: "budget_exhausted",
    retryAfterSeconds: 48,
    needed: 6,
    left: 0,
    isUnbounded: false,
  });
  const call = node.take(5);
  assert.equal(refusalOf(call, node.now), undefined);
  node.pass(WAIT_MS - 1);
  assert.equal(call.state, "waiting");
  node.pass(1);
  assert.deepEqual(refusalOf(call, node.now), { code: "budget_unavailable", retryAfterSeconds: 1 });
  assert.deepEqual(takeDecided(node.ledger), [call]);
});

test("a worker's request waits on while its node answers, up to the longest wait, and then ends", () => {
  const ledger = createLedger("worker", 1, { borrows: true, reportMs: 50 });
  ledger.hasLeader = true;
  let now = START;
  const bucket = bucketOf(ledger, BUCKET, limitOf(1_000));
  assert.ok(bucket !== undefined);
  const call = reserve(ledger, bucket, flatDemand(1), now);
  const states: string[] = [];
  // The node has nothing to lend yet, since the cluster has not answered it. The worker pauses for 50 ms after each such answer.
  for (; now < START + 2_500; now += 40) {
    tick(ledger, now);
    states.push(call.state);
    const report = takeReport(ledger, now);
    if (report === undefined) continue;
    const answers = report.rows.map(({ b, w, window_ms }) => ({ b, w, window_ms, granted: 0, remaining: 1 }));
    applyReportAnswer(ledger, report, answers, now);
  }
  assert.equal(states.indexOf("unavailable") * 40, 2_000, states.join(" "));
});

test("a wait ends even if the clock was set back", () => {
  const node = alone();
  const call = node.take(5);
  node.pass(-10 * MINUTE);
  assert.equal(call.state, "unavailable");
});

test("denials cause no report while the last answer is fresh, and one afterwards", () => {
  const node = alone(10);
  node.take(10);
  node.exchange();
  const denied = node.take(1);
  node.exchange();
  assert.equal(denied.state, "exhausted");
  for (let count = 0; count < 50; count += 1) assert.equal(node.take(1).state, "exhausted");
  assert.equal(hasUrgentReport(node.ledger), false);
  node.pass(499);
  assert.equal(node.take(1).state, "exhausted");
  node.pass(1);
  assert.equal(node.take(1).state, "waiting");
  assert.equal(node.exchange(), 1);
});

test("a bucket exhausted for a large request is not exhausted for a small one", () => {
  const node = alone(64);
  node.take(60);
  node.exchange();
  assert.equal(node.take(10).state, "exhausted");
  const small = node.take(4);
  node.exchange();
  assert.equal(small.state, "held");
});

test("a raised limit is used at once, and a lowered one keeps what is granted", () => {
  const node = alone(10);
  node.take(10);
  node.exchange();
  node.take(1);
  node.exchange();
  assert.equal(node.take(1).state, "exhausted");
  node.limit = limitOf(20, MINUTE, 2);
  const more = node.take(5);
  assert.equal(more.state, "waiting");
  node.exchange();
  assert.equal(more.state, "held");
  release(node.ledger, more, node.now);
  node.limit = limitOf(1, MINUTE, 3);
  assert.equal(node.take(5).state, "held");
  assert.equal(node.take(5).state, "exhausted");
  // A request that began under the old configuration does not restore it.
  node.limit = limitOf(1_000, MINUTE, 1);
  assert.equal(node.bucket().limit, 1);
});

test("a node that spent above its share is not refused while the bucket has room", () => {
  const node = alone(1_000);
  const call = node.take(100);
  node.exchange();
  settle(node.ledger, call, 600, node.now);
  const within = node.take(400);
  node.exchange();
  assert.equal(within.state, "held");
  const beyond = node.take(1);
  node.exchange();
  assert.equal(beyond.state, "exhausted");
});

test("the little that is left is known from what a node spent above its share", () => {
  const node = alone(1_000);
  const call = node.take(10);
  node.exchange();
  settle(node.ledger, call, 700, node.now);
  // Three tenths of the budget are left, which is not little: the request's bound is not reserved, but it must fit.
  const next = node.take({ hard: 290, soft: 20 });
  node.exchange();
  assert.deepEqual([next.state, next.amount, next.risk], ["held", 20, 270]);
  const beside = node.take({ hard: 11, soft: 1 });
  node.exchange();
  assert.equal(beside.state, "exhausted");
});

test("a changed window length begins a new bucket, and the old one still reports", () => {
  const node = provisioned(100);
  const before = node.take(50);
  settle(node.ledger, before, 50, node.now);
  node.limit = limitOf(1_000, 2 * MINUTE, 2);
  const after = node.take(10);
  assert.equal(after.state, "waiting");
  node.pass(600);
  node.exchange();
  assert.equal(after.state, "unavailable");
  node.limit = limitOf(1_000, MINUTE, 3);
  assert.equal(node.usage()?.spent, 50);
  assert.ok(node.free() >= 50);
  assert.equal(node.ledger.buckets.size, 2);
});

test("waiting requests are served in order, and small ones do not starve a large one", () => {
  const node = provisioned(10);
  const large = node.take(100);
  const small = node.take(1);
  assert.deepEqual([large.state, small.state], ["waiting", "waiting"]);
  node.exchange();
  assert.deepEqual([large.state, small.state], ["held", "held"]);
  assert.deepEqual(takeDecided(node.ledger), [large, small]);
});

test("without an answer a small request is served once the large one before it gave up", () => {
  const node = provisioned(10);
  const large = node.take(100);
  node.pass(100);
  const small = node.take(5);
  node.pass(WAIT_MS - 100);
  assert.deepEqual([large.state, small.state], ["unavailable", "held"]);
});

test("units that a request returns go to waiting requests", () => {
  const node = provisioned(10, 64);
  const first = node.take(10);
  const second = node.take(8);
  assert.equal(second.state, "waiting");
  settle(node.ledger, first, 2, node.now);
  assert.equal(second.state, "held");
  assert.equal(node.free(), 0);
});

test("a client that disconnects while it waits holds nothing and blocks nobody", () => {
  const node = provisioned(10);
  const large = node.take(500);
  const small = node.take(5);
  release(node.ledger, large, node.now);
  assert.deepEqual([large.state, small.state], ["closed", "held"]);
  node.exchange();
  assert.equal(large.state, "closed");
  assert.deepEqual(takeDecided(node.ledger), [small]);
});

test("one request for units is outstanding per bucket, and those of several buckets travel together", () => {
  const node = alone();
  node.take(10, "b/one");
  node.take(10, "b/two");
  const report = takeReport(node.ledger, node.now);
  assert.deepEqual(
    report?.rows.map(({ b, want }) => [b, want]),
    [
      ["b/one", 10],
      ["b/two", 10],
    ],
  );
  node.take(10, "b/one");
  assert.equal(hasUrgentReport(node.ledger), false);
  assert.equal(takeReport(node.ledger, node.now), undefined);
});

test("a node with steady use requests units before it runs dry, so that no request waits", () => {
  const node = alone(1_000_000);
  let waited = 0;
  for (let at = 0; at < 40_000; at += 10) {
    const call = node.take(10);
    if (call.state === "waiting") waited += 1;
    // The answer arrives ten milliseconds later.
    const report = takeReport(node.ledger, node.now);
    node.pass(10);
    if (report !== undefined) applyReportAnswer(node.ledger, report, node.cluster.answer(report), node.now);
    assert.equal(call.state, "held");
    settle(node.ledger, call, 10, node.now);
  }
  assert.ok(waited < 60, `${waited} of 4,000 waited`);
});

test("requests reserve their probable cost while much is left, and their bound when little is", () => {
  const node = alone(1_000);
  const soft = node.take({ hard: 400, soft: 100 });
  node.exchange();
  assert.equal(soft.amount, 100);
  settle(node.ledger, soft, 100, node.now);
  const more = node.take(700);
  node.exchange();
  assert.equal(more.state, "held");
  settle(node.ledger, more, 700, node.now);
  // 200 are left, a fifth.
  const hard = node.take({ hard: 150, soft: 10 });
  node.exchange();
  assert.deepEqual([hard.state, hard.amount], ["held", 150]);
  const tooLarge = node.take({ hard: 51, soft: 10 });
  node.exchange();
  assert.equal(tooLarge.state, "exhausted");
});

test("a request that waits across the end of a window is charged to the next", () => {
  const node = alone();
  node.pass(MINUTE - 20);
  const call = node.take(5);
  node.pass(20);
  node.exchange();
  assert.equal(call.state, "held");
  assert.equal(call.share.startsAt, START + MINUTE);
});

test("a request that waits across the end of a window is served before later ones", () => {
  const node = alone();
  node.pass(MINUTE - 20);
  const early = node.take(5);
  node.cluster.now += 40;
  const late = node.take(7);
  node.pass(0);
  node.exchange();
  assert.deepEqual(takeDecided(node.ledger), [early, late]);
});

test("each window begins with nothing granted, and an unused bucket is forgotten after it", () => {
  const node = provisioned(10);
  settle(node.ledger, node.take(10), 10, node.now);
  node.pass(600);
  node.exchange();
  node.pass(MINUTE);
  assert.equal(node.ledger.buckets.size, 0);
  assert.equal(node.take(1).state, "waiting");
});

test("a full ledger accepts no further bucket", () => {
  const ledger = createLedger("n1", 1);
  const limit = limitOf(10);
  for (let at = 0; at < MAX_BUCKETS; at += 1) bucketOf(ledger, `b/k/${at}`, limit);
  assert.equal(bucketOf(ledger, "b/one-more", limit), undefined);
  assert.notEqual(bucketOf(ledger, "b/k/1", limit), undefined);
});

test("a name that the cluster would refuse creates no bucket", () => {
  const ledger = createLedger("n1", 1);
  for (const name of ["", "b/\n", "b/\u0000", "b/\ud800", "x".repeat(513)]) {
    assert.equal(bucketOf(ledger, name, limitOf(10)), undefined);
  }
  const node = alone();
  const call = node.take(1, `b/é/${"x".repeat(508)}`);
  node.exchange();
  assert.equal(call.state, "held");
});

test("at most ten thousand requests wait", () => {
  const ledger = createLedger("n1", 1);
  const bucket = bucketOf(ledger, "b/team", limitOf(1e9))!;
  const states = Array.from({ length: 10_001 }, () => reserve(ledger, bucket, flatDemand(1), START).state);
  assert.deepEqual([states[9_999], states[10_000]], ["waiting", "unavailable"]);
});

test("a clock behind the leader's is refused grants of a past window, and retries slowly until its own clock turns", () => {
  const cluster = createCluster(["n1"]);
  const node = createNode(cluster);
  cluster.now += MINUTE;
  const behind = START + MINUTE - 30;
  const call = reserve(node.ledger, node.bucket(), flatDemand(5), behind);
  const report = takeReport(node.ledger, behind)!;
  applyReportAnswer(node.ledger, report, cluster.answer(report), behind);
  assert.equal(call.state, "waiting");
  assert.equal(hasUrgentReport(node.ledger), false);
  giveUpReport(node.ledger, report, behind);
  assert.equal(call.state, "waiting");
});

test("a clock far ahead is distinguished from a spent budget by the time of the log", () => {
  const cluster = createCluster(["n1"]);
  const node = createNode(cluster);
  const ahead = START + 5 * MINUTE;
  const call = reserve(node.ledger, node.bucket(), flatDemand(5), ahead);
  const report = takeReport(node.ledger, ahead)!;
  applyReportAnswer(node.ledger, report, cluster.answer(report), ahead, START);
  assert.equal(call.state, "waiting");
});
