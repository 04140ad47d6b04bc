import assert from "node:assert/strict";
import { test } from "node:test";
import {
  applyReportAnswer,
  chargeRunning,
  giveUpReport,
  hasUrgentReport,
  type Report,
  release,
  restart,
  returnAll,
  settle,
  takeReport,
  tick,
} from "../../../../src/server/core/budgets/index.ts";
import { createCluster, createNode, holdingsOf, limitOf, MINUTE, type Node } from "./cluster.ts";

const alone = (limit = 1_000): Node => createNode(createCluster(["n1"]), "n1", limitOf(limit));

function reportOf(node: Node): Report {
  const report = takeReport(node.ledger, node.now);
  assert.ok(report !== undefined);
  return report;
}

test("spending is reported after half a second, in one report for all buckets", () => {
  const node = alone();
  for (const name of ["b/one", "b/two"]) {
    node.take(50, name);
    node.exchange();
  }
  assert.equal(takeReport(node.ledger, node.now), undefined);
  for (const name of ["b/one", "b/two"]) settle(node.ledger, node.take(0, name), 0, node.now);
  assert.equal(takeReport(node.ledger, node.now), undefined);
  const calls = ["b/one", "b/two"].map((name) => node.take(0, name));
  for (const call of calls) settle(node.ledger, call, 20, node.now);
  const report = reportOf(node);
  assert.deepEqual(
    report.rows.map(({ b, spent }) => [b, spent]),
    [
      ["b/one", 20],
      ["b/two", 20],
    ],
  );
});

test("nothing is sent before the process has its start number, or while nothing changed", () => {
  const node = alone();
  node.pass(10_000);
  assert.equal(takeReport(node.ledger, node.now), undefined);
  restart(node.ledger, 0, node.now);
  node.take(5);
  assert.equal(hasUrgentReport(node.ledger), false);
  assert.equal(takeReport(node.ledger, node.now), undefined);
});

test("a report is limited in rows and characters, and the rest follows", () => {
  for (const name of ["k", "x".repeat(400)]) {
    const node = alone();
    node.limit = limitOf(1_000_000_000_000, 60_000, Number.MAX_SAFE_INTEGER);
    for (let at = 0; at < 600; at += 1) node.take(node.limit.limit, `b/${name}/${at}`);
    const names = new Set<string>();
    for (let count = 0; count < 8 && names.size < 600; count += 1) {
      const report = reportOf(node);
      assert.ok(JSON.stringify(report.rows).length <= 65_536 && report.rows.length <= 500);
      for (const { b } of report.rows) names.add(b);
      applyReportAnswer(node.ledger, report, node.cluster.answer(report), node.now);
    }
    assert.equal(names.size, 600);
  }
});

test("a report applied twice, or late, counts once", () => {
  const node = alone();
  const call = node.take(100);
  node.exchange();
  chargeRunning(node.ledger, call, 30, node.now);
  node.pass(600);
  const early = reportOf(node);
  applyReportAnswer(node.ledger, early, node.cluster.answer(early), node.now);
  settle(node.ledger, call, 80, node.now);
  node.pass(600);
  const later = reportOf(node);
  applyReportAnswer(node.ledger, later, node.cluster.answer(later), node.now);
  node.cluster.answer(early);
  node.cluster.answer(later);
  assert.equal(node.usage()?.spent, 80);
});

test("an answer delivered twice or to another incarnation changes nothing", () => {
  const node = alone();
  const call = node.take(100);
  const report = reportOf(node);
  const answer = node.cluster.answer(report);
  applyReportAnswer(node.ledger, report, answer, node.now);
  applyReportAnswer(node.ledger, report, answer, node.now);
  assert.deepEqual([call.state, node.share()?.granted], ["held", 100]);
  node.restart();
  applyReportAnswer(node.ledger, report, answer, node.now);
  assert.equal(node.share(), null);
});

test("a grant whose answer was lost is known from the next answer", () => {
  const node = alone();
  const call = node.take(100);
  const report = reportOf(node);
  node.cluster.answer(report);
  giveUpReport(node.ledger, report, node.now);
  assert.equal(hasUrgentReport(node.ledger), true);
  node.exchange();
  assert.equal(call.state, "held");
  assert.equal(node.share()?.granted, 200);
  // Units granted twice are returned once they were unused.
  for (let at = 0; at < 300; at += 1) {
    node.pass(50);
    node.exchange();
  }
  assert.equal(node.free(), 0);
  assert.equal(node.usage()?.granted, 100);
});

test("an answer after its report was given up is still used", () => {
  const node = alone();
  const call = node.take(100);
  const report = reportOf(node);
  giveUpReport(node.ledger, report, node.now);
  applyReportAnswer(node.ledger, report, node.cluster.answer(report), node.now);
  assert.equal(call.state, "held");
});

test("a bucket is in one report at a time", () => {
  const node = alone();
  const call = node.take(100);
  const report = reportOf(node);
  applyReportAnswer(node.ledger, report, node.cluster.answer(report), node.now);
  chargeRunning(node.ledger, call, 10, node.now);
  node.pass(600);
  const first = reportOf(node);
  chargeRunning(node.ledger, call, 90, node.now);
  node.pass(600);
  assert.equal(takeReport(node.ledger, node.now), undefined);
  applyReportAnswer(node.ledger, first, node.cluster.answer(first), node.now);
  assert.deepEqual(
    reportOf(node).rows.map(({ spent }) => spent),
    [90],
  );
});

test("a request for all remaining units of a three-node budget is granted in few rounds", (t) => {
  const cluster = createCluster(["n1", "n2", "n3"]);
  const node = createNode(cluster, "n1", limitOf(1_000_000));
  const call = node.take(1_000_000);
  const rounds = node.exchange();
  assert.equal(call.state, "held");
  // Ten milliseconds each, within the wait of a quarter of a second.
  assert.ok(rounds < 25, `${rounds} rounds`);
  t.diagnostic(`${rounds} rounds`);
});

test("while one report is unanswered, a bounded number of others is sent", () => {
  const node = alone();
  for (let at = 0; at < 4; at += 1) {
    node.take(5, `b/${at}`);
    reportOf(node);
  }
  node.take(5, "b/more");
  assert.equal(hasUrgentReport(node.ledger), false);
  assert.equal(takeReport(node.ledger, node.now), undefined);
});

test("units unused for five seconds are returned, not used meanwhile, and counted once", () => {
  const node = alone();
  const spare = node.take(400);
  node.exchange();
  const busy = node.take(100);
  node.exchange();
  release(node.ledger, spare, node.now);
  const returned: number[] = [];
  for (let at = 0; at < 240; at += 1) {
    node.pass(50);
    // The report is lost each time.
    const report = takeReport(node.ledger, node.now);
    if (report !== undefined) giveUpReport(node.ledger, report, node.now);
    returned.push(node.share()?.returned ?? 0);
  }
  assert.equal(returned[90], 0);
  assert.ok((returned[239] ?? 0) >= 400 && node.free() === 0);
  assert.equal(node.take(1).state, "waiting");
  node.exchange();
  const [held] = holdingsOf(node.cluster.state);
  assert.equal(held?.returned, returned[239]);
  // Also room for one more like it, since there was a time with such requests.
  assert.equal(node.usage()?.open, 103);
  assert.equal(busy.state, "held");
});

test("a busy node keeps what it would request again at once", () => {
  const node = alone(100_000);
  let reports = 0;
  for (let at = 0; at < 20_000; at += 50) {
    const call = node.take(50);
    reports += node.exchange();
    assert.equal(call.state, "held");
    settle(node.ledger, call, 50, node.now);
    node.pass(50);
  }
  // About four a second, each with the amount that may be spent before the next.
  assert.ok(reports < 120, `${reports} reports in 20 seconds`);
});

test("a restarted process begins with nothing, and the last one's grant stays charged in full", () => {
  const node = alone();
  settle(node.ledger, node.take(300), 0, node.now);
  const call = node.take(300);
  node.exchange();
  chargeRunning(node.ledger, call, 20, node.now);
  const { granted } = node.share()!;
  const next = createNode(node.cluster, "n1", limitOf(1_000));
  assert.equal(node.usage()?.used, granted);
  assert.equal(next.free(), 0);
  const refused = afterAWhile(node);
  assert.equal(refused.kind, "refused");
  assert.equal(refused.kind === "refused" ? refused.code : "", "stale_incarnation");
  const rest = next.take(1_000 - granted);
  next.exchange();
  assert.equal(rest.state, "held");
  const beyond = next.take(1);
  next.exchange();
  assert.equal(beyond.state, "exhausted");
});
function afterAWhile(node: Node) {
  node.pass(600);
  return node.cluster.apply(reportOf(node));
}

test("a process with a new number continues: running requests use the old grant, and only more is charged again", () => {
  const node = alone();
  const covered = node.take(100);
  const over = node.take(100);
  const gone = node.take(100);
  node.exchange();
  chargeRunning(node.ledger, covered, 10, node.now);
  node.restart();
  assert.equal(node.usage()?.used, 300);
  settle(node.ledger, covered, 60, node.now);
  assert.equal(node.share(), null);
  settle(node.ledger, over, 130, node.now);
  assert.deepEqual([node.share()?.spent, over.spent, covered.spent], [30, 130, 60]);
  release(node.ledger, gone, node.now);
  const call = node.take(50);
  node.exchange();
  assert.equal(call.state, "held");
  assert.deepEqual([node.usage()?.used, node.usage()?.spent], [300, 30]);
  assert.equal(node.ledger.counts.unreported, 0);
});

test("a reservation from a grant that others overdrew is charged again, since nothing paid for it", () => {
  const node = alone();
  const over = node.take(100);
  const call = node.take(50);
  node.exchange();
  settle(node.ledger, over, 130, node.now);
  node.restart();
  settle(node.ledger, call, 50, node.now);
  assert.deepEqual([node.share()?.spent, node.ledger.counts.unreported], [30, 0]);
  node.pass(600);
  node.exchange();
  assert.deepEqual([node.usage()?.used, node.usage()?.spent], [150, 30]);
});

test("a bucket from before a new number stays one bucket while a request of it is running", () => {
  const node = alone();
  const call = node.take(100);
  node.exchange();
  node.restart();
  node.pass(50);
  const next = node.take(10);
  node.exchange();
  settle(node.ledger, call, 130, node.now);
  settle(node.ledger, next, 10, node.now);
  node.pass(600);
  node.exchange();
  assert.equal(node.usage()?.spent, 40);
});

test("a request waiting for an answer to the old number waits for one to the new number", () => {
  const node = alone();
  const call = node.take(100);
  const report = reportOf(node);
  const answer = node.cluster.answer(report);
  node.restart();
  applyReportAnswer(node.ledger, report, answer, node.now);
  assert.equal(call.state, "waiting");
  node.exchange();
  assert.equal(call.state, "held");
});

test("after a new number, limits of a lower revision are accepted for a minute, then only higher ones", () => {
  const node = alone();
  node.limit = limitOf(1_000, MINUTE, 50);
  node.take(10);
  node.exchange();
  node.restart();
  node.limit = limitOf(20, MINUTE, 30);
  assert.equal(node.bucket().limit, 20);
  // A request that began under the configuration before the restore; the next one is current again.
  node.limit = limitOf(1_000, MINUTE, 50);
  assert.equal(node.bucket().limit, 1_000);
  node.limit = limitOf(20, MINUTE, 30);
  node.take(1);
  node.pass(30_000);
  node.take(1);
  node.pass(30_000);
  assert.equal(node.bucket().limit, 20);
  node.limit = limitOf(5, MINUTE, 29);
  assert.equal(node.bucket().limit, 20);
});

test("a stopping process returns all unreserved units and reports all spending", () => {
  const node = provisionedAtARate();
  const call = node.take(100);
  const done = node.take(50);
  node.exchange();
  settle(node.ledger, done, 30, node.now);
  assert.ok(node.free() > 0);
  returnAll(node.ledger, node.now);
  assert.equal(node.free(), 0);
  assert.equal(node.exchange(), 1);
  assert.deepEqual([node.usage()?.spent, node.usage()?.granted], [30, 30 + call.hard]);
});
function provisionedAtARate(): Node {
  const node = alone();
  for (let count = 0; count < 20; count += 1) {
    const call = node.take(10);
    node.exchange();
    release(node.ledger, call, node.now);
    node.pass(100);
  }
  return node;
}

test("a past window is settled without a request for units, and late reports are counted", () => {
  const node = alone();
  const call = node.take(100);
  node.exchange();
  const first = node.share();
  node.pass(MINUTE + 10);
  settle(node.ledger, call, 150, node.now);
  const report = reportOf(node);
  assert.deepEqual(
    report.rows.map(({ w, spent, want }) => [w, spent, want]),
    [[first?.window, 150, 0]],
  );
  applyReportAnswer(node.ledger, report, node.cluster.answer(report), node.now);
  assert.equal(holdingsOf(node.cluster.state)[0]?.spent, 150);
});

test("spending that no report could carry in time is counted as such", () => {
  const node = alone();
  settle(node.ledger, node.take(0), 0, node.now);
  const call = node.take(40);
  node.exchange();
  settle(node.ledger, call, 40, node.now);
  node.cluster.now += 5 * MINUTE;
  tick(node.ledger, node.now);
  assert.equal(node.ledger.counts.unreported, 40);
  assert.equal(takeReport(node.ledger, node.now), undefined);
});
