/** What a WebSocket session is charged, from its upstream's messages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSessionMeter, createUsageMetrics } from "../../../../src/server/dataplane/metering/index.ts";
import { createCluster } from "../../core/budgets/cluster.ts";
import { ask, flatOf, heldOf, openNode, ruleOf } from "../budgets/support.ts";

const done = (id: string, input: number, output: number): Buffer =>
  Buffer.from(
    JSON.stringify({
      type: "response.done",
      response: { id, usage: { input_tokens: input, output_tokens: output, total_tokens: input + output } },
    }),
  );

test("each response of a session is charged once, beside its flat cost, and counted with or without a budget", async () => {
  for (const pays of [true, false]) {
    const node = openNode(createCluster(["n1"]));
    const asked = ask(() => node.budgets.reserveSession(flatOf(ruleOf(10_000), 5), () => undefined));
    await node.exchange();
    const charge = pays ? heldOf(asked) : undefined;
    const spent: number[] = [];
    const counted: string[] = [];
    const meter = createSessionMeter({
      charge,
      provider: "p",
      label: "gpt-*",
      model: "gpt-realtime",
      metrics: createUsageMetrics(node.instruments),
      spent: (units) => spent.push(units),
      counted: (usage, { provider, model }) => counted.push(`${provider} ${model} ${usage.totalTokens}`),
    });
    meter.message(Buffer.from(JSON.stringify({ type: "response.created", response: { id: "r1" } })), false);
    meter.message(done("r1", 20, 10), false);
    meter.message(done("r1", 20, 10), false);
    meter.message(done("r2", 40, 5), false);
    meter.message(done("r3", 40, 5), true);
    charge?.settle();
    assert.deepEqual(counted, ["p gpt-realtime 30", "p gpt-realtime 45"]);
    assert.equal(node.metric("gateway_tokens_total", "p", "gpt-*", "input"), 60);
    assert.equal(charge?.spent, pays ? 5 + 30 + 45 : undefined);
    assert.deepEqual(spent, pays ? [35, 45] : []);
  }
});

test("a session that ends within a response pays a token for each delta that it had of it", async () => {
  const node = openNode(createCluster(["n1"]));
  const asked = ask(() => node.budgets.reserveSession(flatOf(ruleOf(10_000), 5), () => undefined));
  await node.exchange();
  const charge = heldOf(asked);
  const metrics = createUsageMetrics(node.instruments);
  const meter = createSessionMeter({ charge, provider: "p", label: "gpt-*", metrics, spent: () => undefined });
  const delta = Buffer.from(JSON.stringify({ type: "response.output_text.delta", delta: "word" }));
  for (let count = 0; count < 20; count += 1) meter.message(delta, false);
  meter.message(done("r1", 3, 20), false);
  assert.equal(charge.spent, 5 + 23);
  for (let count = 0; count < 7; count += 1) meter.message(delta, false);
  meter.close();
  assert.equal(charge.spent, 5 + 23 + 7);
});
