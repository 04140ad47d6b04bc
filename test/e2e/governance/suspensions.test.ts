/**
 * A revocation or suspension on one node applies on all with the commit, and on an isolated node as soon as it
 * reconnects. Source: design decisions, sections 2 and 3; lesson P20.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { suiteOwner } from "../admin/support/suite.ts";
import type { TestNode } from "../config/support/nodes.ts";
import { simulated } from "../support/simulated.ts";
import { eventually } from "../support/wait.ts";
import { chat, type GovernedNode, mint, say, simProvider, startGoverned } from "./support/governed.ts";

describe("suspensions on one node", async () => {
  const owner = suiteOwner();
  const other = await simulated(owner, { requireKey: "the-provider-key" });
  const { node, gateway } = await startGoverned(owner, {
    deployment: (simulator) => ({
      profiles: [{ name: "team" }],
      providers: [
        {
          ...simProvider("first", simulator),
          models: ["sim-*"],
          model_aliases: { quick: "sim-1" },
          failover: { to: ["second"], when: ["429"] },
        },
        simProvider("second", other),
        { ...simProvider("alone", simulator), models: ["only-*"] },
      ],
      default_provider: "first",
    }),
  });
  const key = await mint(node, "ci", { profile: "team" });

  const named = (target: string) => {
    const [kind, name] = target.split(":") as ["provider" | "key" | "profile" | "model", string];
    return { kind, name };
  };
  const suspend = (target: string, facts: { duration?: string } = {}) =>
    node.client.call("put_suspension", { params: named(target), body: { reason: "incident 42", ...facts } });
  const lift = (target: string) => node.client.call("delete_suspension", { params: named(target) });

  test("requests of a suspended provider go through its failover list, whatever its triggers", async () => {
    await suspend("provider:first");
    const walked = await say(gateway, { key });
    assert.equal(walked.status, 200);
    assert.equal(walked.headers.get("x-gateway-provider"), "second");
    await suspend("provider:second", { duration: "5m" });
    const refused = await say(gateway, { key });
    assert.deepEqual([refused.status, refused.code], [503, "suspended"]);
    assert.match(refused.text, /Provider first is suspended: incident 42/);
    assert.equal(refused.headers.get("retry-after"), null);
    await lift("provider:first");
    assert.equal((await say(gateway, { key })).headers.get("x-gateway-provider"), "first");
    await lift("provider:second");
  });

  test("a suspension with an end time says so and ends by itself", async () => {
    await suspend("provider:alone", { duration: "2s" });
    const refused = await say(gateway, { key, body: chat({ model: "only-1" }) });
    assert.deepEqual([refused.status, refused.code], [503, "suspended"]);
    assert.ok(["1", "2"].includes(refused.headers.get("retry-after") ?? ""));
    await eventually(
      "its end",
      async () => (await say(gateway, { key, body: chat({ model: "only-1" }) })).code !== "suspended",
    );
  });

  test("a suspended model is refused under its name and its aliases", async () => {
    await suspend("model:sim-1");
    for (const model of ["sim-1", "quick"]) {
      const refused = await say(gateway, { key, body: chat({ model }) });
      assert.deepEqual([model, refused.status, refused.code], [model, 503, "suspended"]);
    }
    assert.equal((await say(gateway, { key, body: chat({ model: "sim-2" }) })).status, 200);
    await lift("model:sim-1");
  });

  for (const target of ["key:ci", "profile:team"]) {
    test(`a request under a suspended ${target} is refused with 403 and the reason`, async () => {
      await suspend(target, { duration: "1h" });
      const refused = await say(gateway, { key });
      assert.deepEqual([refused.status, refused.code], [403, "suspended"]);
      assert.match(refused.text, /incident 42/);
      assert.equal(refused.headers.get("retry-after"), "3600");
      await lift(target);
      assert.equal((await say(gateway, { key })).status, 200);
    });
  }

  test("a deleted, expired or rotated key is refused like an unknown one", async () => {
    const old = await mint(node, "old");
    assert.equal((await say(gateway, { key: old })).status, 200);
    const { key: rotated } = await node.client.call("rotate_key", { params: { name: "old" } });
    assert.equal((await say(gateway, { key: old })).status, 401);
    assert.equal((await say(gateway, { key: rotated })).status, 200);
    await node.client.call("delete_key", { params: { name: "old" } });
    assert.equal((await say(gateway, { key: rotated })).status, 401);
    const brief = await mint(node, "brief", { expires_in: "1s" });
    assert.equal((await say(gateway, { key: brief })).status, 200);
    await eventually("its expiry", async () => (await say(gateway, { key: brief })).status === 401);
  });
});

test("a revocation on one node takes effect on the others with the commit", async (context) => {
  const { nodes } = await startGoverned(context, { ids: ["n1", "n2", "n3"] });
  const [a, b] = nodes;
  assert.ok(a !== undefined && b !== undefined);
  const others: readonly GovernedNode[] = nodes.slice(1);
  for (let round = 0; round < 8; round++) {
    const name = `key-${round}`;
    const key = await mint(a.node, name);
    const { applied_index: mintedAt } = await a.node.client.call("get_status");
    for (const other of others) {
      await caughtUp(other.node, mintedAt);
      assert.equal((await say(other.gateway, { key })).status, 200, `minted on n1, refused on ${other.node.id}`);
    }
    await b.node.client.call("delete_key", { params: { name } });
    const { applied_index: applied } = await b.node.client.call("get_status");
    for (const each of nodes) {
      await caughtUp(each.node, applied);
      assert.equal((await say(each.gateway, { key })).status, 401, `deleted on n2, accepted on ${each.node.id}`);
    }
  }
});

/** Resolves when the node has applied the log up to there, so later requests see it. */
function caughtUp(node: TestNode, index: number): Promise<unknown> {
  return eventually(`index ${index} applied on ${node.id}`, async () => {
    return (await node.client.call("get_status")).applied_index >= index;
  });
}
