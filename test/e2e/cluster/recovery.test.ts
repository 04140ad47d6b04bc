/** Removal of members from a cluster, and recovery of a cluster that lost its majority. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createCluster, SECRET, type TestCluster, type TestNode } from "./support/cluster.ts";
import { rejoinBlank } from "./support/faults.ts";
import { areMembers, membersOf, mustWrite, THREE } from "./support/members.ts";
import { runVerb } from "./support/program.ts";
import { until } from "./support/until.ts";

test("gateway cluster prune, sent to a follower, removes a leader and keeps the others", async (t) => {
  const cluster = await createCluster(t, { ids: THREE });
  await cluster.startAll();
  const leader = await cluster.leader();
  const keep = THREE.filter((id) => id !== leader);
  const target = cluster.node(keep[0]!);
  const prune = (ids: readonly string[], secret = SECRET) =>
    runVerb(["cluster", "prune", "-addr", target.addresses.forward, "-keep", ids.join(",")], {
      GATEWAY_CLUSTER_SECRET: secret,
    });

  const ofAnother = await prune(keep, "the secret of another cluster, as long");
  assert.equal(ofAnother.status, 1, ofAnother.stderr);
  assert.match(ofAnother.stderr, /is `cluster\.secret` the same on both nodes\?/);
  assert.deepEqual(await membersOf(target), THREE);
  const withUnknown = await prune([...keep, "n9"]);
  assert.equal(withUnknown.status, 1, withUnknown.stderr);
  assert.match(withUnknown.stderr, /not a member: n9/);
  assert.deepEqual(await membersOf(target), THREE);
  const nothing = await prune(THREE);
  assert.deepEqual([nothing.status, nothing.stdout], [0, "n1\nn2\nn3\n"], nothing.stderr);

  const done = await prune(keep);
  assert.deepEqual([done.status, done.stdout], [0, keep.map((id) => `${id}\n`).join("")], done.stderr);
  assert.ok(keep.includes(await cluster.leader(keep)));
  for (const id of keep) await areMembers(cluster.node(id), keep);
  await mustWrite(target, "without-the-old-leader", 1);
  await until("the old leader knows", async () => (await cluster.node(leader).nodeClient.status()).role === "removed");
});

test("after two of three nodes are lost, the survivor is recovered, and only empty directories can rejoin", async (t) => {
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

  await t.test("an old node with its log is refused with the reason", async () => {
    const { status, output } = await n2.failsToStart();
    assert.equal(status, 11, output);
    assert.match(output, /stale_recovery_epoch/);
    await mustWrite(n1, "undisturbed", 2);
    const { role, leader } = await n1.nodeClient.status();
    assert.deepEqual([role, leader], ["leader", "n1"]);
  });

  await t.test("nodes with empty directories join and receive everything", async () => {
    for (const node of [n2, n3]) {
      await node.blank();
      await rejoinBlank({ cluster: only(cluster, ["n1", node.id]) }, node);
    }
    await cluster.leader();
    await cluster.caughtUp();
    for (const node of cluster.nodes) {
      const contents = await node.nodeClient.localRegisters();
      assert.equal(contents.get("kept-20"), 20);
      assert.equal(contents.get("after"), 1);
    }
    await n1.kill();
    await cluster.leader();
    await mustWrite(n3, "with-two", 3);
  });
});

test("an empty disk under an old node id gets no vote through a peer list, but does through joining", async (t) => {
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
  // With the vote of the empty node, n1 or n2 could lead alone and forget what the other two had acknowledged.
  await n2.kill();
  const lost = await n1.nodeClient.write("lost", 1, 3_000);
  assert.notEqual(lost.kind, "done");
  await n2.start();
  await cluster.leader(["n1", "n2"]);
  await mustWrite(n1, "kept", 8);
  await n3.kill();
  await n3.blank();
  await rejoinBlank({ cluster }, n3);
  await cluster.leader();
  await cluster.caughtUp();
  assert.equal((await n3.nodeClient.localRegisters()).get("kept"), 8);
  assert.deepEqual(await membersOf(n1), THREE);
});

function only(cluster: TestCluster, ids: readonly string[]): Pick<TestCluster, "ids"> & TestCluster {
  return { ...cluster, ids };
}
