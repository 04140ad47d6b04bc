/**
 * Small requests must not lower the reservation of large ones. Source: lessons P6 and P12; cluster reference, 7.2 rule
 * 1.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { post, rawClient } from "../support/raw.ts";
import { eventually } from "../support/wait.ts";
import { chat, mint, say, startGoverned } from "./support/governed.ts";

const file = { after };
const LIMIT = 10_000_000;
const { node, gateway, simulator } = await startGoverned(file, {
  deployment: {
    budgets: [{ name: "team", limit: LIMIT, window: "week", shared: true }],
    profiles: [{ name: "spender", budget: "team" }],
  },
});
const key = await mint(node, "spender", { profile: "spender" });

async function used(): Promise<number> {
  const { items } = await node.client.call("list_budgets");
  return items.reduce((sum, row) => sum + Number(row.used), 0);
}

test("a long prompt whose client disconnects is not charged like short ones", async () => {
  for (let count = 0; count < 50; count++) {
    assert.equal((await say(gateway, { key, body: chat({ max_tokens: 1 }) })).status, 200);
  }
  const before = await eventually("the short ones are charged", async () => (await used()) || undefined);
  const prompt = "word ".repeat(40_000);
  const body = JSON.stringify(
    chat({ model: "sim-slow-5s", max_tokens: 1, messages: [{ role: "user", content: prompt }] }),
  );
  const bytes = post("/v1/chat/completions", body, [`Authorization: Bearer ${key}`, "Content-Type: application/json"]);
  const countBefore = simulator.counts().requests;
  const client = await rawClient(file, gateway.port);
  client.send(bytes);
  await eventually("the provider is asked", () => simulator.counts().requests > countBefore);
  client.socket.destroy();
  await eventually("the long one is charged", async () => (await used()) - before > 10_000);
});
