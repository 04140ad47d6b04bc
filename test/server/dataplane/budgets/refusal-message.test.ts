/** Messages about budgets in refusals. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createCluster } from "../../core/budgets/cluster.ts";
import { flatOf, heldOf, openNode, refusalOf, ruleOf, spendingOf, startReservation } from "./support.ts";

test("a budget with a remainder says what the request needs, and what is left if it is the caller's own", async () => {
  const rows = [
    {
      isShared: false,
      hasOutputLimit: true,
      message: /needs 100 units, and 60 are left\. Ask for fewer output tokens, or wait until it resets at 2023/,
    },
    { isShared: true, hasOutputLimit: true, message: /needs 100 units, more than is left\. Ask for fewer/ },
    {
      isShared: false,
      hasOutputLimit: false,
      message: /needs 1,000 units without `max_tokens`, and 60 are left\. State `max_tokens`, or wait/,
    },
  ];
  for (const { isShared, hasOutputLimit, message } of rows) {
    const node = openNode(createCluster(["n1"]));
    const rule = ruleOf(1_000, { isShared });
    const used = startReservation(() => node.budgets.reserve(flatOf(rule, 930)));
    await node.exchange();
    heldOf(used).settle(undefined);
    // A request is running, beside which none of unknown size may run.
    const held = startReservation(() => node.budgets.reserve(flatOf(rule, 10)));
    await node.exchange();
    heldOf(held);
    const output = hasOutputLimit ? 100 : 16_384;
    const demand = { kind: "tokens", bounds: { input: 0, output, hasOutputLimit } } as const;
    const reservation = startReservation(() => node.budgets.reserve(spendingOf(rule, 0, { demand })));
    await node.exchange();
    const refusal = refusalOf(reservation);
    assert.equal(refusal.code, "budget_exhausted");
    assert.match(refusal.message, message);
  }
});
