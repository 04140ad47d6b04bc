/** WebSocket sessions: a flat cost, usage during the session, and an exceeded budget. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { expressionCost } from "../../../../src/server/core/budgets/index.ts";
import { readUsage } from "../../../../src/server/core/state/index.ts";
import { createCluster, MINUTE } from "../../core/budgets/cluster.ts";
import { flatOf, heldOf, openNode, refusalOf, ruleOf, spendingOf, startReservation, tokens } from "./support.ts";

async function opened(limit: number, flat = 5) {
  const cluster = createCluster(["n1", "n2"]);
  const node = openNode(cluster);
  const rule = ruleOf(limit);
  const broken: number[] = [];
  const open = () =>
    startReservation(() => node.budgets.reserveSession(flatOf(rule, flat), () => void broken.push(cluster.now)));
  const reservation = open();
  await node.exchange();
  return { cluster, node, rule, broken, open, session: heldOf(reservation) };
}

test("a session is charged its flat cost and what its answers report, and nothing more at its end", async () => {
  const { node, session, broken } = await opened(1_000);
  session.spend(tokens(20));
  session.spend(tokens(30));
  await node.exchange();
  assert.equal(session.spent, 55);
  session.settle();
  session.release();
  assert.equal(session.spent, 55);
  assert.equal(node.metric("gateway_budget_units_total", "team"), 55);
  assert.deepEqual(broken, []);
});

test("a session without usage costs its flat price, and one that never started costs nothing", async () => {
  const { session, open, node } = await opened(1_000);
  session.settle();
  assert.equal(session.spent, 5);
  const reservation = open();
  await node.exchange();
  const other = heldOf(reservation);
  other.release();
  other.settle();
  assert.equal(other.spent, 0);
});

test("an empty budget breaks its session once, and usage still flowing is charged", async () => {
  const { node, session, broken, open } = await opened(100);
  session.spend(tokens(40));
  await node.exchange();
  assert.deepEqual(broken, []);
  session.spend(tokens(80));
  await node.exchange();
  session.spend(tokens(30));
  await node.exchange();
  assert.equal(broken.length, 1);
  assert.equal(session.spent, 5 + 150);
  assert.equal(node.metric("gateway_budget_refusals_total", "team", "budget_exhausted"), 1);
  const next = open();
  await node.exchange();
  assert.equal(refusalOf(next).code, "budget_exhausted");
});

test("a session that overdraws its node's share continues while the cluster has more", async () => {
  const { node, session, broken } = await opened(1_000);
  for (let answer = 0; answer < 10; answer += 1) {
    session.spend(tokens(50));
    await node.exchange();
    await node.pass(50);
  }
  assert.deepEqual(broken, []);
  assert.equal(session.spent, 505);
});

test("a session that overdraws while the leader is unreachable is broken after a quarter of a second", async () => {
  const { node, session, broken } = await opened(1_000);
  node.knowsLeader = false;
  session.spend(tokens(50));
  await node.pass(200);
  assert.deepEqual(broken, []);
  await node.pass(100);
  assert.equal(broken.length, 1);
  assert.equal(node.metric("gateway_budget_refusals_total", "team", "budget_unavailable"), 1);
});

test("a session that ended before the cluster answers is not broken", async () => {
  const { cluster, node, rule, session, broken } = await opened(100);
  session.spend(tokens(90));
  // Before the cluster learns of it, another node takes the rest.
  const other = openNode(cluster, "n2");
  const rest = startReservation(() => other.budgets.reserve(flatOf(rule, 10)));
  await other.exchange();
  heldOf(rest).settle(undefined);
  session.settle();
  await node.exchange();
  await node.pass(600);
  assert.deepEqual(broken, []);
  assert.equal(session.spent, 95);
});

test("later usage is charged to the window in which it occurs", async () => {
  const { node, cluster, session } = await opened(1_000);
  session.spend(tokens(20));
  await node.exchange();
  await node.pass(MINUTE);
  session.spend(tokens(30));
  await node.exchange();
  await node.pass(600);
  await node.exchange();
  const spent = Array.from(cluster.state.scan("usage/"), ([, value]) => readUsage(value).spent);
  assert.deepEqual(spent, [25, 30]);
});

test("an answer without a computable price costs as much as the session's start", async () => {
  const { node } = await opened(1_000);
  const rule = ruleOf(1_000, { costType: "CEL", cost: expressionCost(() => ({ kind: "error", message: "no" })) });
  const spending = spendingOf(rule, 0, { demand: { kind: "flat", units: 4 } });
  const reservation = startReservation(() => node.budgets.reserveSession(spending, () => undefined));
  await node.exchange();
  const session = heldOf(reservation);
  session.spend(tokens(100));
  assert.equal(session.spent, 8);
  assert.equal(node.metric("gateway_budget_cost_errors_total", "team"), 1);
});
