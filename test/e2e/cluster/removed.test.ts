/**
 * A removed member is not ready at once and serves nothing ten seconds later, however it learns of the removal, and
 * whatever it is started with except `cluster.join`. Source: design decisions, section 20.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createAdminClient } from "../../../src/admin-api/index.ts";
import { freePort } from "../support/ports.ts";
import { createCluster, type TestNode } from "./support/cluster.ts";
import { areMembers, isMember } from "./support/members.ts";
import { runVerb } from "./support/program.ts";
import { until } from "./support/until.ts";

/** Its provider is not running, so an admitted request fails with another code. */
const DEPLOYMENT = {
  auth: { virtual_keys: true },
  providers: [{ name: "main", dialect: "compat", base_url: "http://127.0.0.1:9/v1", api_key: "none" }],
};
const IDS = ["n1", "n2", "n3", "n4", "n5"];

test("a removed member goes out of service, however it learns of its removal", async (t) => {
  const cluster = await createCluster(t, { ids: IDS, settings: { deployment: DEPLOYMENT } });
  const [n1, n2, informed, down, apart] = cluster.nodes as readonly [TestNode, TestNode, TestNode, TestNode, TestNode];
  for (const node of cluster.nodes) {
    const env = { GATEWAY_WORKERS: node === informed ? "2" : "1" };
    node.settings = { ...node.settings, env, listen: `127.0.0.1:${await freePort()}` };
  }
  await cluster.startAll();
  // The remaining nodes lead, so that no removal changes the leader.
  await cluster.leader();
  await until("n1 leads", async () => {
    await n1.nodeClient.transfer("n1");
    return (await cluster.leader()) === "n1";
  });
  const client = createAdminClient({ address: { kind: "socket", path: n1.socketPath } });
  t.after(() => client.close());
  const { key } = await client.call("create_key", { body: { name: "team" } });
  await cluster.caughtUp();

  const codeAt = async (node: TestNode, secret = key): Promise<string> => {
    const answer = await fetch(`http://${node.settings.listen}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hello" }] }),
    });
    const { error } = (await answer.json()) as { readonly error: { readonly code: string } };
    return `${answer.status} ${error.code}`;
  };
  const standingOf = async (node: TestNode) =>
    JSON.parse(await node.nodeClient.report()) as { role: string; ready: boolean; reasons: readonly string[] };
  const isNotReady = (node: TestNode) =>
    until(`${node.id} is not ready, since it was removed`, async () => {
      const { role, ready, reasons } = await standingOf(node);
      return role === "removed" && !ready && reasons.some((reason) => reason.includes("removed from its cluster"));
    });
  const isRefusing = (node: TestNode) =>
    until(`${node.id} refuses requests`, async () => (await codeAt(node)) === "503 removed");

  for (const node of cluster.nodes) {
    await until(`${node.id} knows the key`, async () => (await codeAt(node)) === "502 upstream_unreachable");
  }

  // One node learns of it from its leader, one is stopped, and one is isolated.
  await down.kill();
  for (const { id: other } of cluster.nodes) {
    if (other !== apart.id) cluster.links.between(apart.id, other, { kind: "silent" });
  }
  for (const node of [down, apart, informed]) {
    assert.equal((await n1.nodeClient.remove(node.id)).kind, "done");
  }
  await areMembers(n1, ["n1", "n2"]);
  await client.call("delete_key", { params: { name: "team" } });
  await until("the key is revoked", async () => (await codeAt(n2)) === "401 unauthenticated");

  await t.test(
    "informed by its leader, reconnected or restarted: it is not ready at once and refuses traffic ten seconds later",
    async () => {
      await isNotReady(informed);
      assert.match(informed.output(), /this node was removed from its cluster/);
      assert.equal(await codeAt(informed), "502 upstream_unreachable");
      // The isolated nodes have not learned of it.
      assert.equal((await standingOf(apart)).ready, true);
      cluster.links.heal();
      await down.start();
      const since = performance.now();
      await Promise.all([apart, down].map(isNotReady));
      await Promise.all([informed, apart, down].map(isRefusing));
      assert.ok(performance.now() - since < 40_000);
      // Every worker process must do so.
      for (let count = 0; count < 20; count += 1) assert.equal(await codeAt(informed), "503 removed");
    },
  );

  await t.test("after a restart it knows of its removal without asking any node", async () => {
    await Promise.all(cluster.nodes.map((node) => node.stop()));
    await Promise.all(
      [informed, apart, down].map(async (node) => {
        await node.start();
        assert.equal((await standingOf(node)).role, "removed");
        await isRefusing(node);
      }),
    );
    await cluster.startAll(["n1", "n2"]);
    await cluster.leader(["n1", "n2"]);
  });

  await t.test("started with `cluster.join` it is admitted again and serves the current configuration", async () => {
    await apart.stop();
    apart.settings = { ...apart.settings, begin: { kind: "join", through: ["n1", "n2"] }, rejoinAfterMs: 500 };
    await apart.start();
    await isMember(apart, n1);
    await until("it is ready", async () => (await standingOf(apart)).ready);
    assert.equal(await codeAt(apart), "401 unauthenticated");
    await apart.stop();
    await apart.start();
    await until("it is ready after a restart", async () => (await standingOf(apart)).ready);
    assert.doesNotMatch(apart.output().slice(-3_000), /removed from its cluster/);
  });

  await t.test("with an empty directory it joins as another member", async () => {
    await informed.stop();
    await informed.blank();
    informed.settings = { ...informed.settings, begin: { kind: "join", through: ["n1", "n2"] } };
    await informed.start();
    await isMember(informed, n1);
    await until("it is ready", async () => (await standingOf(informed)).ready);
    assert.equal(await codeAt(informed), "401 unauthenticated");
  });

  await t.test("turned into a cluster of its own by `cluster recover`, it serves again", async () => {
    await down.stop();
    const end = await runVerb(["cluster", "recover", "-data-dir", down.dataDir, "-node-id", down.id, "-confirm"]);
    assert.equal(end.status, 0, end.stderr);
    await down.start();
    await until("it is ready", async () => (await standingOf(down)).ready);
    assert.equal(await codeAt(down), "502 upstream_unreachable");
  });
});
