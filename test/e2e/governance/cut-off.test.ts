/**
 * A key revoked and a provider suspended while a node is isolated: refused there as soon as it reconnects. Source:
 * issue "callers" and "on every route"; lesson P20.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "../support/wait.ts";
import { LONG_WINDOW, leaderOf, startBudgeted } from "./budgets/support/members.ts";
import { chat, mint, say } from "./support/governed.ts";

const SLOW_MS = 30_000;

test("a revocation or suspension made while a node is isolated applies there as soon as it reconnects", async () => {
  const { members, links } = await startBudgeted(
    { after },
    { ids: ["n1", "n2", "n3"], budgets: [{ name: "plenty", limit: 1_000_000, window: LONG_WINDOW, shared: true }] },
  );
  const [first] = members;
  assert.ok(first);
  const leader = await leaderOf(first);
  const cut = members.find(({ id }) => id !== leader);
  const near = members.find(({ id }) => id === leader);
  assert.ok(cut && near);
  const revoked = await mint(near.node, "revoked");
  const kept = await mint(near.node, "kept");
  await eventually("both keys there", async () => (await say(cut.gateway, { key: kept })).status === 200, SLOW_MS);
  assert.equal((await say(cut.gateway, { key: revoked })).status, 200);

  for (const { id } of members) if (id !== cut.id) links.between(cut.id, id, { kind: "cut" });
  await near.node.client.call("delete_key", { params: { name: "revoked" } });
  await near.node.client.call("put_suspension", {
    params: { kind: "model", name: "sim-2" },
    body: { reason: "incident" },
  });
  assert.equal((await say(near.gateway, { key: revoked })).status, 401);
  assert.equal((await say(near.gateway, { key: kept, body: chat({ model: "sim-2" }) })).status, 503);
  // It cannot know yet, and serves as before.
  assert.equal((await say(cut.gateway, { key: revoked })).status, 200);

  links.heal();
  const { applied_index: index } = await near.node.client.call("get_status");
  const hasCaughtUp = async (): Promise<boolean> => (await cut.node.client.call("get_status")).applied_index >= index;
  await eventually("what was committed meanwhile, there", hasCaughtUp, SLOW_MS);
  // Its data plane processes learn of it within moments.
  await eventually("it is refused", async () => (await say(cut.gateway, { key: revoked })).status === 401, 1_000);
  await eventually(
    "it is suspended",
    async () => (await say(cut.gateway, { key: kept, body: chat({ model: "sim-2" }) })).code === "suspended",
    1_000,
  );
  assert.equal((await say(cut.gateway, { key: kept })).status, 200);
});
