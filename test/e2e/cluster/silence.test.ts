/** Members that are silent, and members without a leader. Source: specification document 1, membership. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createCluster, type TestNode } from "./support/cluster.ts";
import { areMembers, isMember, membersOf, mustWrite, THREE } from "./support/members.ts";
import { until } from "./support/until.ts";

test("a member silent for dead_after is removed, and rejoins when it comes back", async (t) => {
  const cluster = await createCluster(t, { ids: THREE, settings: { deadAfterMs: 10_000, rejoinAfterMs: 500 } });
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
  assert.equal((await n3.nodeClient.localRegisters()).get("without-n3"), 1);
  assert.match(n3.output(), /re-admitted to the cluster/);
});

test("a mere loss of quorum changes nothing, whichever node is asked for readmission", async (t) => {
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
});

function countOf(output: string, text: string): number {
  return output.split(text).length - 1;
}
