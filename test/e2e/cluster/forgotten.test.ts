/**
 * Directories that a cluster must not accept again: an old copy, a copy that runs beside its original, and those from
 * before a recovery. Each of these nodes ends with status 11 and the remedy; the others lose nothing.
 */
import assert from "node:assert/strict";
import { cp, rm } from "node:fs/promises";
import { test } from "node:test";
import { createCluster, type TestNode } from "./support/cluster.ts";
import { rejoinBlank } from "./support/faults.ts";
import { mustWrite, THREE } from "./support/members.ts";
import { runVerb } from "./support/program.ts";
import { until } from "./support/until.ts";

const STORAGE_FAULT = 11;

interface SeenMember {
  readonly id: string;
  readonly state: string;
  readonly applied: number | null;
}

async function memberOf(queried: TestNode, id: string): Promise<SeenMember> {
  const { members } = JSON.parse(await queried.nodeClient.report()) as { readonly members: readonly SeenMember[] };
  return members.find((member) => member.id === id) ?? { id, state: "none", applied: null };
}

const stateOf = async (queried: TestNode, id: string): Promise<string> => (await memberOf(queried, id)).state;

test("data directories that must not return", async (t) => {
  const cluster = await createCluster(t, { ids: THREE });
  await cluster.startAll();
  await cluster.leader();
  await mustWrite(cluster.node("n1"), "before", 1);
  await Promise.all(cluster.nodes.map((node) => node.stop()));
  const copies = new Map(cluster.nodes.map(({ id, dataDir }) => [id, `${dataDir}-copy`]));
  for (const { id, dataDir } of cluster.nodes) await cp(dataDir, copies.get(id)!, { recursive: true });
  await cluster.startAll();
  await cluster.leader();
  for (let value = 1; value <= 10; value += 1) await mustWrite(cluster.node("n1"), `kept-${value}`, value);
  await cluster.caughtUp();

  async function comesBack(role: "leader" | "follower"): Promise<void> {
    const leader = await cluster.leader();
    const id = role === "leader" ? leader : THREE.find((each) => each !== leader)!;
    const node = cluster.node(id);
    const others = THREE.filter((each) => each !== id).map((each) => cluster.node(each));
    // A leader knows at once what the others have; it reports its own position every two and a half seconds.
    await until("the others know how far it is", async () => {
      const { applied } = await node.nodeClient.status();
      const known = await Promise.all(others.map((other) => memberOf(other, id)));
      return role === "follower" || known.every((member) => (member.applied ?? 0) >= applied);
    });
    await node.kill();
    await rm(node.dataDir, { recursive: true });
    await cp(copies.get(id)!, node.dataDir, { recursive: true });
    const { status, output } = await node.failsToStart();
    assert.equal(status, STORAGE_FAULT, output);
    assert.match(output, /is older than what this node has acknowledged/);
    assert.ok(output.includes(node.dataDir), output);
    assert.match(output, /move it away and start this node with an empty one that joins its cluster/);
    await until("another says what it knows", async () => {
      const states = await Promise.all(others.map((other) => stateOf(other, id)));
      return states.includes("forgot");
    });
    assert.ok(others.some((other) => /a member lost entries that it had acknowledged/.test(other.output())));
    await mustWrite(others[0]!, `without-${id}`, 1);
    await rm(node.dataDir, { recursive: true });
    await rejoinBlank({ cluster }, node);
    await cluster.leader();
    await cluster.caughtUp();
    assert.equal((await node.nodeClient.localRegisters()).get("kept-10"), 10);
    assert.ok(!(await Promise.all(others.map((other) => stateOf(other, id)))).includes("forgot"));
  }
  await t.test(
    "an old copy of a follower's directory is refused, listed as `forgot`, and the process ends with the remedy",
    () => comesBack("follower"),
  );
  await t.test("an old copy of a leader's directory is refused too", () => comesBack("leader"));

  async function runsBeside(id: string, name: string): Promise<void> {
    const twin = await cluster.add(name, { begin: { kind: "peers", ids: THREE }, dataDir: copies.get(id)!, as: id });
    const { status, output } = await twin.failsToStart();
    assert.equal(status, STORAGE_FAULT, output);
    assert.match(output, /another process of this node id is connected to n\d and answers/);
    assert.match(output, /Stop one of the two/);
    assert.ok(cluster.node(id).isRunning);
    await mustWrite(cluster.node(id), `after-${name}`, 1);
  }
  await t.test(
    "a copy started beside its running original ends, and the original continues, whichever of them leads",
    async () => {
      const leader = await cluster.leader();
      await runsBeside(leader, "t1");
      await runsBeside(THREE.find((id) => id !== leader)!, "t2");
      assert.equal(await cluster.leader(), leader, "no leader was deposed by it");
    },
  );

  await t.test("after a recovery, old directories are refused with a message and the process ends", async () => {
    const [n1, n2, n3] = cluster.nodes as readonly [TestNode, TestNode, TestNode];
    await cluster.caughtUp();
    await Promise.all([n1.stop(), n2.kill(), n3.kill()]);
    const recovered = await runVerb(["cluster", "recover", "-data-dir", n1.dataDir, "-node-id", "n1", "-confirm"]);
    assert.equal(recovered.status, 0, recovered.stderr);
    await n1.start();
    await cluster.leader(["n1"]);
    for (const { status, output } of await Promise.all([n2.failsToStart(), n3.failsToStart()])) {
      assert.equal(status, STORAGE_FAULT, output);
      assert.match(output, /is from before a recovery of its cluster \(n1 refuses it: stale_recovery_epoch\)/);
      assert.match(
        output,
        /Move the directory away and start this node with an empty one that joins \(cluster\.join\)/,
      );
    }
    await mustWrite(n1, "kept-10", 11);
  });
});
