/** How long requests wait for a busy leader, and how long a grant that could not be renewed is spent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { WAIT_MS } from "../../../../src/server/core/budgets/index.ts";
import { createCluster } from "../../core/budgets/cluster.ts";
import { heldOf, openNode, provisioned, refusalOf, ruleOf, spendingOf, startReservation, tokens } from "./support.ts";

test("while a leader is known and the request for units is running, a busy machine is awaited for at most two seconds", async () => {
  const node = openNode(createCluster(["n1"]));
  const served = startReservation(() => node.budgets.reserve(spendingOf(ruleOf(100), 10)));
  await node.pass(1_900);
  assert.equal(served.now, undefined);
  await node.exchange();
  heldOf(served).release();
  const refused = startReservation(() => node.budgets.reserve(spendingOf(ruleOf(100), 60)));
  await node.pass(1_950);
  assert.equal(refused.now, undefined);
  await node.pass(50);
  assert.equal(refusalOf(refused).code, "budget_unavailable");
});

test("a grant that could not be renewed for 45 seconds is no longer spent", async () => {
  const { node, reserve } = await provisioned(1_000);
  const held = heldOf(reserve(20));
  node.knowsLeader = false;
  for (let second = 0; second < 44; second += 1) {
    heldOf(reserve(1)).release();
    await node.pass(1_000);
  }
  await node.pass(2_000);
  const late = reserve(1);
  assert.equal(late.now, undefined);
  await node.pass(WAIT_MS);
  assert.equal(refusalOf(late).code, "budget_unavailable");
  // Admitted requests continue and are charged.
  held.settle(tokens(15));
  assert.equal(held.spent, 20);
  node.knowsLeader = true;
  const after = reserve(1);
  await node.pass(200);
  await node.exchange();
  heldOf(after).release();
});
