/** Cluster and ledger over a real single-node cluster, restarted and restored. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createInstruments, systemClock } from "../../../../src/base/index.ts";
import { tokenCost } from "../../../../src/server/core/budgets/index.ts";
import { memberRowKey, readMember, readUsage } from "../../../../src/server/core/state/index.ts";
import { type OpenBudgets, openBudgets, type UsageReports } from "../../../../src/server/dataplane/index.ts";
import { usageReports } from "../../../../src/server/node/governance/usage-reports.ts";
import { bytesOf, piecesOf } from "../../cluster/support/archives.ts";
import { BY, openAlone, type TestNode } from "../../cluster/support/cluster-bench.ts";
import { until } from "../../cluster/support/outcome.ts";

const DAY = 86_400_000;
const spending = (units: number) => ({
  rule: {
    name: "team",
    isShared: true,
    windowMs: DAY,
    limit: 1_000,
    limitRev: 1,
    costType: "TotalToken" as const,
    cost: tokenCost("TotalToken"),
  },
  bucket: "b/team",
  averageKey: "m",
  at: { model: "m", backend: "p" },
  demand: { kind: "flat" as const, units },
});

const budgetsOf = (reports: UsageReports): OpenBudgets =>
  openBudgets({
    node: "a",
    clock: systemClock,
    reports,
    instruments: createInstruments(),
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  });
const ignore = (): void => undefined;

/** Counts of the cluster: of closed holders, and of open ones. */
function countedBy({ view }: TestNode) {
  const rows = Array.from(view.scan("usage/"), ([, value]) => readUsage(value));
  return { used: rows.reduce((sum, row) => sum + row.used, 0), spent: rows.reduce((sum, row) => sum + row.spent, 0) };
}

const started = (reports: UsageReports) => until("a number of start", () => reports.incarnation() > 0);

test("a process's spending is counted by the cluster, and a closed process leaves no grant", async (t) => {
  const node = await openAlone(t);
  const reports = usageReports(node);
  const budgets = budgetsOf(reports);
  const charge = await budgets.reserve(spending(100));
  assert.ok(reports.logNow() > 0 && reports.logNow() <= Date.now());
  charge.settle(undefined);
  await budgets.close();
  assert.deepEqual(countedBy(node), { used: 0, spent: 100 });
  const [row] = Array.from(node.view.scan("usage/"), ([, value]) => readUsage(value));
  assert.equal(row?.granted, 100);
});

test("a process does not take its predecessor's number for its own", async (t) => {
  const first = await openAlone(t);
  const before = usageReports(first);
  await started(before);
  const budgets = budgetsOf(before);
  await budgets.reserve(spending(100));
  const number = before.incarnation();
  await first.close();

  const next = await openAlone(t, { dataDir: first.options.dataDir });
  const seen: number[] = [];
  const reports = usageReports(next);
  seen.push(reports.incarnation());
  const end = reports.onIncarnation(() => seen.push(reports.incarnation()));
  await started(reports);
  end();
  assert.ok(seen.every((one) => one === 0 || one > number));
  assert.ok(reports.incarnation() > number);
  // The first grant counts as used, whatever happened to it; the rest is available.
  const again = budgetsOf(reports);
  (await again.reserve(spending(900))).settle(undefined);
  await assert.rejects(async () => await again.reserve(spending(1)), { code: "budget_exhausted" });
  await again.close();
  assert.deepEqual(countedBy(next), { used: 100, spent: 900 });
});

test("a restored state gives the process a new number, and its grants are closed", async (t) => {
  const node = await openAlone(t);
  const reports = usageReports(node);
  const budgets = budgetsOf(reports);
  (await budgets.reserve(spending(100))).settle(undefined);
  const number = reports.incarnation();
  const { archive } = await node.saveSnapshot({ stale: false, signal: AbortSignal.timeout(20_000) });
  const saved = await bytesOf(archive);
  (await budgets.reserve(spending(50))).settle(undefined);
  await node.restore(piecesOf(saved), { by: BY, timeoutMs: 20_000 });
  await until("a new number", () => reports.incarnation() > number);
  (await budgets.reserve(spending(30))).settle(undefined);
  await budgets.close();
  assert.deepEqual(countedBy(node), { used: 100, spent: 30 });
});

test("a node that is not a member of the cluster has no number", async (t) => {
  const node = await openAlone(t);
  const reports = usageReports(node);
  await started(reports);
  const row = node.view.get(memberRowKey("a"));
  assert.equal(row !== undefined && readMember(row).incarnation, node.status().incarnation);
  const elsewhere = usageReports({ ...node, view: { ...node.view, get: () => undefined } });
  assert.equal(elsewhere.incarnation(), 0);
});

test("a report with an earlier number is refused, and one that is abandoned is not awaited", async (t) => {
  const node = await openAlone(t);
  const reports = usageReports(node);
  await started(reports);
  const signal = AbortSignal.timeout(20_000);
  const stale = await reports.report({ inc: reports.incarnation() + 1, rows: [] }, signal);
  assert.equal(stale.kind === "refused" && stale.code, "stale_incarnation");
  await assert.rejects(reports.report({ inc: reports.incarnation(), rows: [] }, AbortSignal.abort()));
});
