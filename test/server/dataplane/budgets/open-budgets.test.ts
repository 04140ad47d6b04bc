/** Reservations, charges and refusals of one node, over the real state machine. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { expressionCost, WAIT_MS } from "../../../../src/server/core/budgets/index.ts";
import { BUCKET, createCluster, holdingsOf, MINUTE, START } from "../../core/budgets/cluster.ts";
import {
  flatOf,
  heldOf,
  openNode,
  provisioned,
  refusalOf,
  ruleOf,
  spendingOf,
  startReservation,
  tokens,
  usageIn,
} from "./support.ts";

const alone = () => openNode(createCluster(["n1"]));

test("the first use of a bucket waits for the cluster, and the next is admitted at once", async () => {
  const node = alone();
  const rule = ruleOf(1_000);
  const first = startReservation(() => node.budgets.reserve(spendingOf(rule, 40)));
  assert.equal(first.now, undefined);
  assert.equal(await node.exchange(), 1);
  const charge = heldOf(first);
  assert.deepEqual([charge.reserved, charge.spent], [40, 0]);
  charge.settle(tokens(25));
  assert.equal(charge.spent, 25);
  const next = node.budgets.reserve(spendingOf(rule, 10));
  assert.ok(!(next instanceof Promise));
});

test("of a hundred calls with room for ten, ten are admitted, on the first use of the bucket", async () => {
  const node = alone();
  const rule = ruleOf(1_000);
  const reservation = Array.from({ length: 100 }, () =>
    startReservation(() => node.budgets.reserve(spendingOf(rule, 100))),
  );
  const reports = await node.exchange();
  const held = reservation.filter(({ now }) => now !== undefined && !(now instanceof Error));
  assert.equal(held.length, 10);
  const codes = reservation.filter((one) => !held.includes(one)).map((one) => refusalOf(one).code);
  assert.deepEqual(new Set(codes), new Set(["budget_exhausted"]));
  assert.equal(codes.length, 90);
  assert.equal(node.metric("gateway_budget_refusals_total", "team", "budget_exhausted"), 90);
  // Reservations of one turn of the loop are requested together.
  assert.ok(reports < 25, `${reports} reports`);
});

test("of a hundred calls over three nodes with room for ten, at most ten are admitted, and all except stranded ones", async () => {
  const cluster = createCluster(["n1", "n2", "n3"]);
  const nodes = ["n1", "n2", "n3"].map((id) => openNode(cluster, id));
  const rule = ruleOf(10);
  const reservation = Array.from({ length: 100 }, (_, at) =>
    startReservation(() => (nodes[at % 3] ?? nodes[0]!).budgets.reserve(flatOf(rule, 1))),
  );
  for (let round = 0; round < 20; round += 1) for (const node of nodes) await node.exchange();
  assert.equal(reservation.filter(({ now }) => now !== undefined && !(now instanceof Error)).length, 10);
});

test("a spent budget is refused with its name and the seconds to the window's end, and no other caller's usage", async () => {
  const { node, cluster, reserve } = await provisioned(1_000);
  cluster.now = START + 20_500;
  heldOf(await after(reserve(1_000), node)).settle(undefined);
  const refusal = refusalOf(await after(reserve(10), node));
  assert.equal(refusal.code, "budget_exhausted");
  assert.equal(refusal.retryAfterSeconds, 40);
  assert.equal(
    refusal.message,
    "Budget team has too little left for this request. It resets at 2023-11-15T00:01:00.000Z.",
  );
});

async function after<Asked>(reservation: Asked, node: { exchange(): Promise<number> }): Promise<Asked> {
  await node.exchange();
  return reservation;
}

test("a request larger than a whole window is refused with that reason", async () => {
  const { reserve } = await provisioned(100);
  const refusal = refusalOf(reserve(101));
  assert.equal(refusal.code, "budget_exhausted");
  assert.match(refusal.message, /more than budget team allows in a whole window/);
});

test("without an answer a wait ends after a quarter of a second as unavailable with a retry", async () => {
  const node = alone();
  node.knowsLeader = false;
  const reservation = startReservation(() => node.budgets.reserve(spendingOf(ruleOf(100), 10)));
  await node.pass(WAIT_MS - 50);
  assert.equal(reservation.now, undefined);
  await node.pass(50);
  const refusal = refusalOf(reservation);
  assert.deepEqual([refusal.code, refusal.retryAfterSeconds], ["budget_unavailable", 1]);
  assert.equal(node.metric("gateway_budget_refusals_total", "team", "budget_unavailable"), 1);
});

test("a wait ends also while the cluster's log is ahead of the clock and does not advance", async () => {
  const cluster = createCluster(["n1"]);
  const node = openNode(cluster);
  node.skewMs = -3_600_000;
  node.knowsLeader = false;
  const reservation = startReservation(() => node.budgets.reserve(spendingOf(ruleOf(100), 10)));
  await node.pass(WAIT_MS);
  assert.equal(refusalOf(reservation).code, "budget_unavailable");
});

test("a node with a late clock is served in the window of the log", async () => {
  const cluster = createCluster(["n1"]);
  const node = openNode(cluster);
  node.skewMs = -2 * MINUTE;
  const reservation = startReservation(() => node.budgets.reserve(spendingOf(ruleOf(100), 10)));
  await node.exchange();
  heldOf(reservation).release();
});

test("a node with a clock far ahead gets unavailable, not exhausted", async () => {
  const cluster = createCluster(["n1"]);
  const node = openNode(cluster);
  node.skewMs = 10 * MINUTE;
  node.knowsLeader = false;
  const reservation = startReservation(() => node.budgets.reserve(spendingOf(ruleOf(100), 10)));
  for (let tick = 0; tick < 6; tick += 1) {
    await node.exchange();
    await node.pass(50);
  }
  assert.equal(refusalOf(reservation).code, "budget_unavailable");
});

test("a complete answer is charged its usage, one without usage its reservation, a broken one its known usage", async () => {
  const { node, rule } = await provisioned(1_000);
  const reserve = () =>
    heldOf(startReservation(() => node.budgets.reserve(spendingOf(rule, 40, { averageKey: "once" }))));
  const spentBy = (end: (charge: ReturnType<typeof reserve>) => void): number => {
    const charge = reserve();
    end(charge);
    const { spent } = charge;
    charge.settle(tokens(1_000));
    charge.abort(undefined);
    charge.release();
    assert.equal(charge.spent, spent);
    return spent;
  };
  assert.equal(
    spentBy((it) => it.abort(undefined)),
    40,
  );
  assert.equal(
    spentBy((it) => it.abort(tokens(7))),
    7,
  );
  assert.equal(
    spentBy((it) => it.release()),
    0,
  );
  assert.equal(
    spentBy((it) => it.settle(undefined)),
    40,
  );
  assert.equal(
    spentBy((it) => {
      it.spend(tokens(10));
      it.spend(tokens(30));
      it.settle(tokens(35));
    }),
    35,
  );
  assert.equal(node.metric("gateway_budget_units_total", "team"), 40 + 7 + 40 + 35);
});

test("attempts are charged one after the other, each at its own price", async () => {
  const cluster = createCluster(["n1"]);
  const node = openNode(cluster);
  const rule = ruleOf(100_000, {
    costType: "CEL",
    cost: expressionCost(({ backend, output_tokens }) => ({
      kind: "value",
      value: output_tokens * (backend === "dear" ? 10 : 1),
    })),
  });
  const reservation = startReservation(() => node.budgets.reserve(spendingOf(rule, 50)));
  await node.exchange();
  const charge = heldOf(reservation);
  charge.attempt({ model: "m", backend: "cheap" });
  charge.spend(tokens(5));
  charge.attempt({ model: "x", backend: "dear" });
  charge.spend(tokens(2));
  assert.equal(charge.spent, 5 + 20);
  charge.settle(tokens(3));
  assert.equal(charge.spent, 5 + 30);
});

test("a cost known beforehand is charged whatever the usage; an unknown one by the reported usage", async () => {
  const { node, rule } = await provisioned(1_000);
  const flat = heldOf(startReservation(() => node.budgets.reserve(flatOf(rule, 3))));
  flat.spend(tokens(100));
  flat.settle(tokens(100));
  assert.equal(flat.spent, 3);
  const unknown = spendingOf(rule, 0, { demand: { kind: "atLeast", units: 1 } });
  const result = heldOf(startReservation(() => node.budgets.reserve(unknown)));
  assert.equal(result.reserved, 1);
  result.settle(tokens(30));
  assert.equal(result.spent, 30);
});

test("requests reserve what similar complete ones cost; broken ones are not averaged", async () => {
  const { node, rule } = await provisioned(100_000);
  const reserve = (like: string) =>
    heldOf(startReservation(() => node.budgets.reserve(spendingOf(rule, 400, { averageKey: like }))));
  reserve("a").abort(tokens(5));
  assert.equal(reserve("a").reserved, 400);
  reserve("a").settle(tokens(60));
  assert.equal(reserve("a").reserved, 60);
  assert.equal(reserve("b").reserved, 400);
});

test("a failing expression reserves one unit, charges what was reserved, and is counted", async () => {
  const { node } = await provisioned(1_000);
  let fails = true;
  const cost = expressionCost(({ output_tokens }) =>
    fails ? { kind: "error", message: "no" } : { kind: "value", value: output_tokens },
  );
  const rule = ruleOf(1_000, { costType: "CEL", cost });
  const blind = heldOf(startReservation(() => node.budgets.reserve(spendingOf(rule, 40, { averageKey: "x" }))));
  assert.equal(blind.reserved, 1);
  blind.spend(tokens(9));
  blind.settle(tokens(9));
  assert.equal(blind.spent, 1);
  assert.equal(node.metric("gateway_budget_cost_errors_total", "team"), 2);
  fails = false;
  const seen = heldOf(startReservation(() => node.budgets.reserve(spendingOf(rule, 40, { averageKey: "x" }))));
  assert.equal(seen.reserved, 40);
  fails = true;
  seen.abort(tokens(4));
  assert.equal(seen.spent, 40);
  assert.equal(node.metric("gateway_budget_cost_errors_total", "team"), 3);
});

test("units that a request returns go to waiting requests without the cluster", async () => {
  const { node, cluster, reserve } = await provisioned(100);
  const all = heldOf(await after(reserve(100), node));
  cluster.now += 600;
  const reservation = reserve(50);
  assert.equal(reservation.now, undefined);
  all.settle(tokens(0));
  await Promise.resolve();
  assert.equal(reservation.now, undefined, "a flat cost stays charged");
  await node.exchange();
  assert.equal(refusalOf(reservation).code, "budget_exhausted");

  const other = await provisioned(100);
  const held = heldOf(await after(other.reserve(100), other.node));
  other.cluster.now += 600;
  const next = other.reserve(50);
  held.release();
  await Promise.resolve();
  heldOf(next).release();
});

test("before the process has its number nothing is sent, and waiting requests are served when it arrives", async () => {
  const cluster = createCluster(["n1"]);
  const node = openNode(cluster, "n1", { isStarted: false });
  const reservation = startReservation(() => node.budgets.reserve(spendingOf(ruleOf(100), 10)));
  await node.pass(100);
  assert.equal(node.posted.length, 0);
  node.renumber();
  await node.exchange();
  heldOf(reservation).settle(tokens(10));
});

test("a new number closes the held grant, and charges continue under the new one", async () => {
  const { node, rule, cluster } = await provisioned(1_000);
  const before = heldOf(startReservation(() => node.budgets.reserve(spendingOf(rule, 50))));
  node.renumber();
  before.settle(tokens(60));
  assert.equal(before.spent, 60);
  const reservation = startReservation(() => node.budgets.reserve(spendingOf(rule, 50, { averageKey: "y" })));
  assert.equal(reservation.now, undefined);
  await node.exchange();
  heldOf(reservation).settle(tokens(50));
  await node.pass(600);
  await node.exchange();
  // The earlier grant in full, and usage above its reservation.
  assert.deepEqual([usageIn(cluster)?.used, usageIn(cluster)?.spent], [250, 10 + 50]);
});

test("a row of the admin list includes what only this node knows", async () => {
  const { node, cluster, reserve } = await provisioned(1_000);
  heldOf(reserve(30)).settle(undefined);
  heldOf(reserve(20));
  const row = node.budgets.row({
    budget: "team",
    name: BUCKET,
    windowMs: MINUTE,
    limit: 1_000,
    usage: usageIn(cluster),
    holdings: holdingsOf(cluster.state),
  });
  assert.deepEqual([row.used, row.reserved, row.granted, row.remaining], [30, 20, 220, 950]);
});

test("a node that is not a member sends nothing, and asks again once it is one", async () => {
  const { node, reserve } = await provisioned(1_000);
  node.setIncarnation(0);
  const reservation = reserve(600);
  await node.pass(100);
  assert.equal(node.posted.length, 0);
  node.renumber();
  await node.exchange();
  heldOf(reservation).release();
});

test("a report has two seconds; then it is abandoned, and the next one includes its content", async () => {
  const { node, reserve, cluster } = await provisioned(1_000);
  heldOf(reserve(20)).settle(undefined);
  await node.pass(500);
  assert.equal(node.posted.length, 1);
  const [first] = node.posted;
  await node.pass(2_000);
  assert.equal(first?.signal.aborted, true);
  assert.equal(node.metric("gateway_budget_reports_total", "lost"), 1);
  await node.pass(600);
  await node.exchange();
  assert.equal(usageIn(cluster)?.spent, 20);
});

test("a cluster that refuses reports is not asked in a loop, and one warning is logged", async () => {
  const cluster = createCluster(["n1"]);
  const node = openNode(cluster);
  cluster.start("n1"); // another process of the node
  for (let round = 0; round < 40; round += 1) {
    startReservation(() => node.budgets.reserve(spendingOf(ruleOf(100), 10)));
    await node.pass(50);
    for (const { deliver } of [...node.posted]) deliver();
    await node.tick();
  }
  const refused = node.metric("gateway_budget_reports_total", "refused");
  assert.ok(refused > 2 && refused <= 21, `${refused} refused reports in two seconds`);
  assert.deepEqual(node.warnings, ["the cluster refused a budget report of this node"]);
});

test("an answer without rows or a lost one costs only time", async () => {
  const node = alone();
  const reservation = startReservation(() => node.budgets.reserve(spendingOf(ruleOf(1_000), 40)));
  await node.tick();
  node.posted[0]?.applyOnly();
  await node.pass(150);
  assert.equal(reservation.now, undefined);
  await node.exchange();
  heldOf(reservation).settle(tokens(40));
});

test("no timer runs without buckets, and no bucket is kept past its use", async () => {
  const { node, reserve } = await provisioned(100);
  assert.equal(node.isTicking(), true);
  heldOf(reserve(5)).settle(undefined);
  for (let minute = 0; minute < 4; minute += 1) {
    await node.pass(MINUTE);
    await node.exchange();
  }
  assert.equal(node.isTicking(), false);
  assert.equal(node.metric("gateway_budget_buckets"), 0);
  assert.equal(node.metric("gateway_budget_unreported_units_total"), 0);
  const again = reserve(5);
  assert.equal(node.isTicking(), true);
  await node.exchange();
  heldOf(again).release();
});

test("overspending and unused holdings are visible", async () => {
  const { node, rule } = await provisioned(1_000);
  await node.tick();
  assert.equal(node.metric("gateway_budget_held_units"), 250);
  const charge = heldOf(startReservation(() => node.budgets.reserve(spendingOf(rule, 50))));
  await node.tick();
  assert.equal(node.metric("gateway_budget_held_units"), 200);
  charge.settle(tokens(70));
  await node.tick();
  assert.equal(node.metric("gateway_budget_excess_units_total"), 20);
});
