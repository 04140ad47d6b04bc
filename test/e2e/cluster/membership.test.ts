/** How nodes become members, stay, leave and come back. Source: specification document 1, the table of membership. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { atEnd } from "../support/wait.ts";
import { createCluster, SECRET, type TestCluster, type TestNode } from "./support/cluster.ts";
import { rejoinBlank } from "./support/faults.ts";
import { runVerb } from "./support/program.ts";
import { until } from "./support/until.ts";

const THREE = ["n1", "n2", "n3"];
const LIMIT_MS = 10_000;

async function mustWrite({ door }: TestNode, register: string, value: number): Promise<void> {
  const outcome = await door.write(register, value, LIMIT_MS);
  assert.equal(outcome.kind, "done", JSON.stringify(outcome));
}

async function membersOf({ door }: TestNode): Promise<readonly string[]> {
  return (await door.status()).members.map(({ id }) => id).sort();
}

async function isMember(node: TestNode, of: TestNode): Promise<void> {
  await until(`${node.id} votes, as ${of.id} sees it`, async () =>
    (await of.door.status()).members.some(({ id, voter }) => id === node.id && voter),
  );
}

async function areMembers(node: TestNode, ids: readonly string[]): Promise<void> {
  const wanted = [...ids].sort().join();
  await until(`${node.id} sees the members ${wanted}`, async () => (await membersOf(node)).join() === wanted);
}

test("three nodes with one list become a cluster, and a fourth with an empty directory joins it and votes", async (t) => {
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
  assert.equal((await n4.door.localRegisters()).get("early"), 1);
  await mustWrite(n4, "late", 2);

  await t.test("restarted with its state, it does not ask anybody to be admitted", async () => {
    await n4.stop();
    const admissions = countOf(n4.output(), "admitted to the cluster");
    assert.equal(admissions, 1);
    n4.settings = { ...n4.settings, begin: { kind: "join", through: [] } };
    // An address at which nobody listens: a node that asked would wait for it.
    n4.settings = { ...n4.settings, begin: { kind: "join", through: ["n4"], isDirect: true } };
    await n4.start();
    await cluster.leader();
    assert.equal(countOf(n4.output(), "admitted to the cluster"), 1);
    assert.equal(countOf(n4.output(), "not admitted"), 0);
    assert.deepEqual(await membersOf(n4), [...THREE, "n4"]);
  });

  await t.test("removed while it runs, it stays out until it is restarted, and then is admitted anew", async () => {
    n4.settings = { ...n4.settings, begin: { kind: "join", through: THREE }, rejoinAfterMs: 500 };
    await n4.stop();
    await n4.start();
    await cluster.leader();
    const removal = await cluster.node("n1").door.remove("n4");
    assert.equal(removal.kind, "done", JSON.stringify(removal));
    await until("n4 knows that it was removed", async () => (await n4.door.status()).role === "removed");
    // It asks, if it does, twice a second.
    const from = performance.now();
    let value = 0;
    await until("two seconds of writes", async () => {
      value += 1;
      await mustWrite(cluster.node("n2"), "meanwhile", value);
      return performance.now() - from > 2_000;
    });
    assert.deepEqual(await membersOf(cluster.node("n1")), THREE);
    const refused = await n4.door.write("by-n4", 1, LIMIT_MS);
    assert.equal(refused.kind, "failed");
    assert.equal((await n4.door.localRegisters()).get("early"), 1);

    await n4.stop();
    await n4.start();
    await isMember(n4, cluster.node("n1"));
    await cluster.leader();
    await cluster.caughtUp();
    assert.equal((await n4.door.localRegisters()).get("meanwhile"), value);
  });
});

test("a member that is silent for dead_after is removed, and rejoins when it comes back", async (t) => {
  const cluster = await createCluster(t, { ids: THREE, settings: { deadAfterMs: 2_500, rejoinAfterMs: 500 } });
  await cluster.startAll();
  await cluster.leader();
  const n3 = cluster.node("n3");
  await n3.kill();
  const first = cluster.node("n1");
  await areMembers(first, ["n1", "n2"]);
  await mustWrite(first, "without-n3", 1);

  n3.settings = { ...n3.settings, begin: { kind: "join", through: ["n1", "n2"] } };
  await n3.start();
  await isMember(n3, first);
  await cluster.leader();
  await cluster.caughtUp();
  assert.equal((await n3.door.localRegisters()).get("without-n3"), 1);
  assert.match(n3.output(), /re-admitted to the cluster/);

  await t.test(
    "two of three that are silent are not removed, since nothing could be decided without them",
    async () => {
      await cluster.node("n2").kill();
      await n3.kill();
      const from = performance.now();
      await until("twice dead_after has passed", () => performance.now() - from > 5_000);
      assert.deepEqual(await membersOf(first), THREE);
    },
  );
});

test("a plain loss of quorum changes nothing, whoever is asked for re-admission", async (t) => {
  const cluster = await createCluster(t, { ids: THREE });
  await cluster.startAll();
  await cluster.leader();
  const [n1, n2, n3] = cluster.nodes as readonly [TestNode, TestNode, TestNode];
  await n3.stop();
  n3.settings = { ...n3.settings, begin: { kind: "join", through: ["n1", "n2"] }, rejoinAfterMs: 400 };
  await n3.start();
  await cluster.leader();
  await n1.kill();
  await n2.kill();
  await until("n3 was not re-admitted three times", () => countOf(n3.output(), "not re-admitted") >= 3);
  assert.deepEqual(await membersOf(n3), THREE);
  await n1.start();
  const leader = await cluster.leader();
  await mustWrite(cluster.node(leader), "again", 1);
  assert.deepEqual(await membersOf(n3), THREE);
  assert.equal(countOf(n3.output(), "re-admitted to the cluster"), 0);
});

test("with bootstrap and join a node starts a cluster of its own only when every address is silent", async (t) => {
  const cluster = await createCluster(t, { ids: [] });
  await cluster.add("gone", { begin: { kind: "bootstrap" } });
  const begin = { kind: "join", through: ["gone"], bootstrapAfterMs: 1_000, isDirect: true } as const;
  const alone = await cluster.add("alone", { begin });
  await alone.start();
  assert.equal(await cluster.leader(["alone"]), "alone");
  assert.match(alone.output(), /every join address stayed silent/);
  await mustWrite(alone, "first", 1);

  await t.test("restarted, it goes on with its state", async () => {
    await alone.stop();
    await alone.start();
    await cluster.leader(["alone"]);
    assert.equal((await alone.door.localRegisters()).get("first"), 1);
    assert.equal(countOf(alone.output(), "every join address stayed silent"), 1);
  });

  await t.test("an answer of any other kind keeps it from starting one", async () => {
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
    assert.doesNotMatch(other.output(), /every join address stayed silent/);
    await other.kill();
  });
});

test("gateway cluster prune, asked of a follower, removes a leader and keeps the others", async (t) => {
  const cluster = await createCluster(t, { ids: THREE });
  await cluster.startAll();
  const leader = await cluster.leader();
  const keep = THREE.filter((id) => id !== leader);
  const asked = cluster.node(keep[0]!);
  const prune = (ids: readonly string[], secret = SECRET) =>
    runVerb(["cluster", "prune", "-addr", asked.addresses.forward, "-keep", ids.join(",")], {
      GATEWAY_CLUSTER_SECRET: secret,
    });

  const ofAnother = await prune(keep, "the secret of another cluster, as long");
  assert.equal(ofAnother.status, 1, ofAnother.stderr);
  assert.match(ofAnother.stderr, /another cluster secret/);
  assert.deepEqual(await membersOf(asked), THREE);
  const stranger = await prune([...keep, "n9"]);
  assert.equal(stranger.status, 1, stranger.stderr);
  assert.match(stranger.stderr, /not a member: n9/);
  assert.deepEqual(await membersOf(asked), THREE);
  const nothing = await prune(THREE);
  assert.deepEqual([nothing.status, nothing.stdout], [0, "n1\nn2\nn3\n"], nothing.stderr);

  const done = await prune(keep);
  assert.deepEqual([done.status, done.stdout], [0, keep.map((id) => `${id}\n`).join("")], done.stderr);
  assert.ok(keep.includes(await cluster.leader(keep)));
  for (const id of keep) await areMembers(cluster.node(id), keep);
  await mustWrite(asked, "without-the-old-leader", 1);
  await until("the old leader knows", async () => (await cluster.node(leader).door.status()).role === "removed");
});

test("with two of three lost the survivor is recovered, and only empty directories come back to it", async (t) => {
  const cluster = await createCluster(t, { ids: THREE });
  await cluster.startAll();
  await cluster.leader();
  const [n1, n2, n3] = cluster.nodes as readonly [TestNode, TestNode, TestNode];
  for (let value = 1; value <= 20; value += 1) await mustWrite(n2, `kept-${value}`, value);
  await cluster.caughtUp();
  await n2.kill();
  await n3.kill();

  const recover = ["cluster", "recover", "-data-dir", n1.dataDir, "-node-id", "n1"];
  const running = await runVerb([...recover, "-confirm"]);
  assert.equal(running.status, 1, running.stderr);
  assert.match(running.stderr, /in use by another process/);
  await n1.stop();
  const looked = await runVerb(recover);
  assert.equal(looked.status, 0, looked.stderr);
  assert.match(looked.stderr, /Nothing was written/);
  const confirmed = await runVerb([...recover, "-confirm"]);
  assert.equal(confirmed.status, 0, confirmed.stderr);
  await n1.start();
  assert.equal(await cluster.leader(["n1"]), "n1");
  assert.deepEqual(await membersOf(n1), ["n1"]);
  await mustWrite(n1, "after", 1);

  await t.test("an old node with its log is refused and told why", async () => {
    await n2.launch();
    await until("n2 is refused", () => n2.output().includes("stale_recovery_epoch"));
    await mustWrite(n1, "undisturbed", 2);
    const { role, leader } = await n1.door.status();
    assert.deepEqual([role, leader], ["leader", "n1"]);
    await n2.kill();
  });

  await t.test("with empty directories both join and have everything", async () => {
    for (const node of [n2, n3]) {
      await node.blank();
      await rejoinBlank({ cluster: only(cluster, ["n1", node.id]) }, node);
    }
    await cluster.leader();
    await cluster.caughtUp();
    for (const node of cluster.nodes) {
      const contents = await node.door.localRegisters();
      assert.equal(contents.get("kept-20"), 20);
      assert.equal(contents.get("after"), 1);
    }
    await n1.kill();
    await cluster.leader();
    await mustWrite(n3, "with-two", 3);
  });
});

test("a blank disk under an old id gets no vote from its list of peers, and does from joining", async (t) => {
  const cluster = await createCluster(t, { ids: THREE });
  await cluster.startAll();
  await cluster.leader();
  const [n1, n2, n3] = cluster.nodes as readonly [TestNode, TestNode, TestNode];
  await mustWrite(n1, "kept", 7);
  await cluster.caughtUp();
  await n3.kill();
  await n3.blank();
  await n3.launch();
  await until("n3 says what to do", () => /move this directory away and let the node join/.test(n3.output()));
  // With the vote of the blank node n1 or n2 could lead alone, and forget what the other two had acknowledged.
  await n2.kill();
  const lost = await n1.door.write("lost", 1, 3_000);
  assert.notEqual(lost.kind, "done");
  await n2.start();
  await cluster.leader(["n1", "n2"]);
  await mustWrite(n1, "kept", 8);
  await n3.kill();
  await n3.blank();
  await rejoinBlank({ cluster }, n3);
  await cluster.leader();
  await cluster.caughtUp();
  assert.equal((await n3.door.localRegisters()).get("kept"), 8);
  assert.deepEqual(await membersOf(n1), THREE);
});

function only(cluster: TestCluster, ids: readonly string[]): Pick<TestCluster, "ids"> & TestCluster {
  return { ...cluster, ids };
}

function countOf(output: string, words: string): number {
  return output.split(words).length - 1;
}
