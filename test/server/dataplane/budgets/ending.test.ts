/** Reports of a stopping node to the cluster, over the real state machine. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { heldOf, provisioned, refusalOf, usageIn } from "./support.ts";

test("at shutdown the node returns unused units, reports its spending, and refuses waiting requests", async () => {
  const { node, reserve, cluster } = await provisioned(1_000);
  heldOf(reserve(30)).settle(undefined);
  const waiting = reserve(900);
  const closing = node.budgets.close();
  await Promise.resolve();
  assert.equal(refusalOf(waiting).code, "budget_unavailable");
  assert.equal(refusalOf(reserve(1)).code, "budget_unavailable");
  await node.exchange();
  await closing;
  assert.deepEqual([usageIn(cluster)?.spent, usageIn(cluster)?.granted], [30, 30]);
  assert.equal(node.isTicking(), false);
  await node.budgets.close();
});

test("at shutdown the node also returns grants that it only then learns of", async () => {
  const { node, reserve, cluster } = await provisioned(1_000);
  heldOf(reserve(240)).settle(undefined);
  const waiting = reserve(300);
  await node.tick();
  (node.posted[0] ?? assert.fail("the node does not ask for more")).applyOnly();
  assert.ok((usageIn(cluster)?.granted ?? 0) > 250, "nothing was granted");
  const closing = node.budgets.close();
  await Promise.resolve();
  assert.equal(refusalOf(waiting).code, "budget_unavailable");
  await node.exchange();
  await closing;
  assert.deepEqual([usageIn(cluster)?.spent, usageIn(cluster)?.granted], [240, 240]);
});

test("at shutdown the node sends lost reports again, and does not wait long for running ones", async () => {
  const { node, reserve, cluster } = await provisioned(1_000);
  heldOf(reserve(240)).settle(undefined);
  await node.tick();
  const hanging = node.posted[0] ?? assert.fail("the node does not ask for more");
  const closing = node.budgets.close();
  await node.pass(1_500);
  assert.equal(hanging.signal.aborted, true);
  const first = await waitFor(() => node.posted[0]);
  first.lose();
  const second = await waitFor(() => node.posted[0]);
  assert.notEqual(second, first);
  second.deliver();
  await node.exchange();
  await closing;
  assert.deepEqual([usageIn(cluster)?.spent, usageIn(cluster)?.granted], [240, 240]);
});

async function waitFor<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    await nextTurn();
  }
}
