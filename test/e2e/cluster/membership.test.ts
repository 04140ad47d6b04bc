/** How nodes become members, and what a removed one does. Source: specification document 1, the table of membership. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { atEnd } from "../support/wait.ts";
import { createCluster } from "./support/cluster.ts";
import { isMember, LIMIT_MS, membersOf, mustWrite, THREE } from "./support/members.ts";
import { until } from "./support/until.ts";

test("three nodes with one member list form a cluster, and a fourth with an empty directory joins and votes", async (t) => {
  const cluster = await createCluster(t, { ids: THREE });
  await cluster.startAll();
  const leader = await cluster.leader();
  for (const node of cluster.nodes) assert.deepEqual(await membersOf(node), THREE);
  await mustWrite(cluster.node("n1"), "early", 1);

  const followers = THREE.filter((id) => id !== leader);
  const n4 = await cluster.add("n4", { begin: { kind: "join", through: followers } });
  await n4.start();
  await isMember(n4, cluster.node(leader));
  await cluster.caughtUp();
  assert.equal((await n4.nodeClient.localRegisters()).get("early"), 1);
  await mustWrite(n4, "late", 2);

  await t.test("a restarted member does not ask to be admitted again", async () => {
    await n4.stop();
    const admissions = countOf(n4.output(), "admitted to the cluster");
    assert.equal(admissions, 1);
    // An address without a listener: a node that asked would wait for it.
    n4.settings = { ...n4.settings, begin: { kind: "join", through: ["n4"], isDirect: true } };
    await n4.start();
    await cluster.leader();
    assert.equal(countOf(n4.output(), "admitted to the cluster"), 1);
    assert.equal(countOf(n4.output(), "not admitted"), 0);
    assert.deepEqual(await membersOf(n4), [...THREE, "n4"]);
  });

  await t.test("a member removed at run time stays out until it restarts, and is then admitted again", async () => {
    n4.settings = { ...n4.settings, begin: { kind: "join", through: THREE }, rejoinAfterMs: 500 };
    await n4.stop();
    await n4.start();
    await cluster.leader();
    // A node without a known leader may be asking for admission when it is removed.
    await until("n4 hears its leader", async () => (await n4.nodeClient.status()).leader !== undefined);
    const removal = await cluster.node("n1").nodeClient.remove("n4");
    assert.equal(removal.kind, "done", JSON.stringify(removal));
    await until("n4 knows that it was removed", async () => (await n4.nodeClient.status()).role === "removed");
    // If it asks, it does so twice a second.
    const from = performance.now();
    let value = 0;
    await until("two seconds of writes", async () => {
      value += 1;
      await mustWrite(cluster.node("n2"), "meanwhile", value);
      return performance.now() - from > 2_000;
    });
    assert.deepEqual(await membersOf(cluster.node("n1")), THREE);
    const refused = await n4.nodeClient.write("by-n4", 1, LIMIT_MS);
    assert.equal(refused.kind, "failed");
    assert.equal((await n4.nodeClient.localRegisters()).get("early"), 1);

    await n4.stop();
    await n4.start();
    await isMember(n4, cluster.node("n1"));
    await cluster.leader();
    await cluster.caughtUp();
    assert.equal((await n4.nodeClient.localRegisters()).get("meanwhile"), value);
  });
});

test("with bootstrap and join a node forms its own cluster only if every address is silent", async (t) => {
  const cluster = await createCluster(t, { ids: [] });
  await cluster.add("gone", { begin: { kind: "bootstrap" } });
  const begin = { kind: "join", through: ["gone"], bootstrapAfterMs: 1_000, isDirect: true } as const;
  const alone = await cluster.add("alone", { begin });
  await alone.start();
  assert.equal(await cluster.leader(["alone"]), "alone");
  assert.match(alone.output(), /no join address answered/);
  await mustWrite(alone, "first", 1);

  await t.test("after a restart it continues with its state", async () => {
    await alone.stop();
    await alone.start();
    await cluster.leader(["alone"]);
    assert.equal((await alone.nodeClient.localRegisters()).get("first"), 1);
    assert.equal(countOf(alone.output(), "no join address answered"), 1);
  });

  await t.test("any other answer keeps it from forming a cluster", async () => {
    const gone = cluster.node("gone");
    const [host = "", port] = gone.addresses.forwardListen.split(":");
    let asked = 0;
    const server = createServer((socket) => {
      asked += 1;
      socket.on("error", () => undefined).end("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    server.listen(Number(port), host);
    await once(server, "listening");
    atEnd(t, () => server.close());
    const other = await cluster.add("other", { begin });
    await other.launch();
    await until("it has asked for three times as long as it would wait", () => asked >= 6);
    assert.doesNotMatch(other.output(), /no join address answered/);
    await other.kill();
  });
});

function countOf(output: string, text: string): number {
  return output.split(text).length - 1;
}
