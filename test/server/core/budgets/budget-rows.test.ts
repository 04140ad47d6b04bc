import assert from "node:assert/strict";
import { test } from "node:test";
import { TABLES } from "../../../../src/admin-api/index.ts";
import { type BudgetRow, budgetRow, settle, tick } from "../../../../src/server/core/budgets/index.ts";
import { BUCKET, createCluster, createNode, holdingsOf, limitOf, MINUTE, type Node, START } from "./cluster.ts";

const rowOf = (node: Node, key?: { readonly id: string; readonly name: string }): BudgetRow => {
  const { windowMs, limit } = node.limit;
  const holdings = holdingsOf(node.cluster.state);
  return budgetRow(
    node.ledger,
    { budget: "team", name: BUCKET, key, windowMs, limit, usage: node.usage(), holdings },
    node.now,
  );
};

test("an unused bucket is full", () => {
  assert.deepEqual(rowOf(createNode(createCluster(["n1"]))), {
    budget: "team",
    bucket: "shared",
    key: null,
    limit: 1_000,
    used: 0,
    unaccounted: 0,
    reserved: 0,
    granted: 0,
    remaining: 1_000,
    window: "1m",
    resets_at: new Date(START + MINUTE).toISOString(),
    status: "ok",
  });
});

test("a row has the columns of the admin list, except for those the node adds", () => {
  const row = rowOf(createNode(createCluster(["n1"])), { id: "abcdefgh", name: "alice" });
  assert.deepEqual(
    [...Object.keys(row), "refused_per_minute", "holders", "node"].sort(),
    Array.from(TABLES.budgets.json.required as readonly string[]).sort(),
  );
  assert.deepEqual([row.bucket, row.key], ["abcdefgh", "alice"]);
});

test("used counts unreported spending of this node, once", () => {
  const cluster = createCluster(["n1", "n2"]);
  const [one, two] = [createNode(cluster, "n1"), createNode(cluster, "n2")];
  const call = one.take(100);
  const other = two.take(200);
  one.exchange();
  two.exchange();
  const { granted } = rowOf(one);
  assert.equal(granted, 300);
  settle(one.ledger, call, 60, one.now);
  const figures = ({ used, reserved, granted: left, remaining }: BudgetRow) => [used, reserved, left, remaining];
  assert.deepEqual(figures(rowOf(one)), [60, 0, 240, 940]);
  assert.deepEqual(figures(rowOf(two)), [0, 200, 300, 800]);
  one.pass(600);
  one.exchange();
  assert.equal(rowOf(one).used, 60);
  assert.equal(rowOf(two).used, 60);
  settle(two.ledger, other, 200, two.now);
  assert.equal(rowOf(two).used, 260);
  tick(one.ledger, one.now);
  assert.ok(one.ledger.unusedUnits >= 40);
});

test("the grant of a dead process counts as used", () => {
  const cluster = createCluster(["n1", "n2"]);
  const [one, two] = [createNode(cluster, "n1"), createNode(cluster, "n2")];
  one.take(100);
  one.exchange();
  createNode(cluster, "n1");
  assert.equal(rowOf(two).used, 100);
});

test("a status follows from the remaining amount", () => {
  const cases: readonly (readonly [used: number, status: BudgetRow["status"]])[] = [
    [0, "ok"],
    [90, "ok"],
    [91, "low"],
    [99, "low"],
    [100, "exhausted"],
    [130, "exhausted"],
  ];
  for (const [used, status] of cases) {
    const node = createNode(createCluster(["n1"]), "n1", limitOf(100));
    const call = node.take(Math.min(used, 100));
    node.exchange();
    settle(node.ledger, call, used, node.now);
    const row = rowOf(node);
    assert.deepEqual([row.status, row.remaining], [status, Math.max(0, 100 - used)]);
  }
});

test("possible spending of a silent or dead node is unaccounted, after a minute or once it restarts", () => {
  for (const isBack of [true, false]) {
    const cluster = createCluster(["n1", "n2"]);
    const limit = limitOf(1_000, 60 * MINUTE);
    const [one, two] = [createNode(cluster, "n1", limit), createNode(cluster, "n2", limit)];
    const call = two.take(300);
    two.exchange();
    settle(two.ledger, call, 120, two.now);
    assert.equal(two.take(80).state, "held");
    two.pass(600);
    two.exchange();
    const figures = (): readonly number[] => [rowOf(one).used, rowOf(one).unaccounted];
    assert.deepEqual(figures(), [120, 0]);
    cluster.now += MINUTE - 1;
    assert.deepEqual(figures(), [120, 0]);
    if (isBack) cluster.start("n2");
    else cluster.now += 1;
    const [used = 0, unaccounted = 0] = figures();
    // Its grant, and room for two more requests like the earlier ones.
    assert.equal(used, 120 + unaccounted);
    assert.ok(unaccounted >= 80 && unaccounted <= 80 + 2 * 300, `${unaccounted} unaccounted`);
  }
});
