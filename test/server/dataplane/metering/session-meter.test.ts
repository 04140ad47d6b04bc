/** The charge of a WebSocket session, from its upstream's messages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSessionMeter, createUsageMetrics } from "../../../../src/server/dataplane/metering/index.ts";
import { createCluster } from "../../core/budgets/cluster.ts";
import { flatOf, heldOf, openNode, ruleOf, startReservation } from "../budgets/support.ts";

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
    const reservation = startReservation(() => node.budgets.reserveSession(flatOf(ruleOf(10_000), 5), () => undefined));
    await node.exchange();
    const charge = pays ? heldOf(reservation) : undefined;
    const spent: number[] = [];
    const counted: string[] = [];
    const meter = createSessionMeter({
      charge,
      provider: "p",
      route: "realtime",
      label: "gpt-*",
      model: "gpt-realtime",
      metrics: createUsageMetrics(node.instruments, { warn: () => undefined }),
      onUnits: (units) => spent.push(units),
      account: {
        addUsage: (usage, { provider, model }) => counted.push(`${provider} ${model} ${usage.totalTokens}`),
        countUnmeasured: ({ provider }) => counted.push(`${provider} unmeasured`),
        addUnits: () => undefined,
      },
    });
    meter.readMessage(Buffer.from(JSON.stringify({ type: "response.created", response: { id: "r1" } })), false);
    meter.readMessage(done("r1", 20, 10), false);
    meter.readMessage(done("r1", 20, 10), false);
    meter.readMessage(done("r2", 40, 5), false);
    meter.readMessage(done("r3", 40, 5), true);
    charge?.settle();
    assert.deepEqual(counted, ["p gpt-realtime 30", "p gpt-realtime 45"]);
    assert.equal(node.metric("gateway_tokens_total", "p", "gpt-*", "input"), 60);
    assert.equal(charge?.spent, pays ? 5 + 30 + 45 : undefined);
    assert.deepEqual(spent, pays ? [35, 45] : []);
  }
});

test("a session that ends during a response is charged a token for each received delta", async () => {
  const node = openNode(createCluster(["n1"]));
  const reservation = startReservation(() => node.budgets.reserveSession(flatOf(ruleOf(10_000), 5), () => undefined));
  await node.exchange();
  const charge = heldOf(reservation);
  const metrics = createUsageMetrics(node.instruments, { warn: () => undefined });
  const meter = createSessionMeter({
    charge,
    provider: "p",
    route: "realtime",
    label: "gpt-*",
    metrics,
    onUnits: () => undefined,
  });
  const delta = Buffer.from(JSON.stringify({ type: "response.output_text.delta", delta: "word" }));
  for (let count = 0; count < 20; count += 1) meter.readMessage(delta, false);
  meter.readMessage(done("r1", 3, 20), false);
  assert.equal(charge.spent, 5 + 23);
  for (let count = 0; count < 7; count += 1) meter.readMessage(delta, false);
  meter.close();
  assert.equal(charge.spent, 5 + 23 + 7);
});

test("impossible usage of a session is charged at least its start and its deltas, and counted", async () => {
  const of = (usage: unknown, id: string): Buffer =>
    Buffer.from(JSON.stringify({ type: "response.done", response: { id, usage } }));
  for (const [usage, units] of [
    [{ total_tokens: 2 ** 53, input_tokens: 3, output_tokens: 1 }, 5],
    [{ total_tokens: -1_200 }, 7],
    [{ total_tokens: 0, input_tokens: 0, output_tokens: 0 }, 7],
    [{ total_tokens: 40, output_tokens: -1 }, 40],
  ] as const) {
    const node = openNode(createCluster(["n1"]));
    const reservation = startReservation(() => node.budgets.reserveSession(flatOf(ruleOf(10_000), 5), () => undefined));
    await node.exchange();
    const charge = heldOf(reservation);
    const warnings: unknown[] = [];
    const metrics = createUsageMetrics(node.instruments, { warn: (_, fields) => warnings.push(fields) });
    const meter = createSessionMeter({
      charge,
      provider: "p",
      route: "realtime",
      label: "gpt-*",
      metrics,
      onUnits: () => undefined,
    });
    const delta = Buffer.from(JSON.stringify({ type: "response.output_text.delta", delta: "word" }));
    const deltas = units === 7 ? 7 : 2;
    for (let count = 0; count < deltas; count += 1) meter.readMessage(delta, false);
    meter.readMessage(of(usage, "r1"), false);
    assert.equal(charge.spent, 5 + units, JSON.stringify(usage));
    assert.equal(node.metric("gateway_usage_doubted_total", "p", "realtime", "impossible"), 1);
    assert.deepEqual(warnings, [{ provider: "p", route: "realtime", doubt: "impossible", more: 0 }]);
  }
});
