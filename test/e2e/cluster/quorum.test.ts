/** Behavior of a node without a quorum and on a full disk. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createCluster, type TestNode } from "./support/cluster.ts";
import { mountTmpfs } from "./support/tmpfs.ts";
import { until } from "./support/until.ts";

const THREE = ["n1", "n2", "n3"];
/** A gateway waits five seconds for a leader, and some two seconds longer for one deposed in between. */
const WRITE_MS = 20_000;
const LEADERLESS_MS = 8_500;
/** A node accepts no writes with less than 256 MiB free. */
const DISK_BYTES = 320 << 20;

test("without a quorum, writes and consistent reads answer no_leader, and local reads continue", async (t) => {
  const cluster = await createCluster(t, { ids: THREE });
  await cluster.startAll();
  await cluster.leader();
  const [n1, n2, n3] = cluster.nodes as readonly [TestNode, TestNode, TestNode];
  assert.equal((await n1.nodeClient.write("kept", 7, WRITE_MS)).kind, "done");
  await cluster.caughtUp();
  await n2.kill();
  await n3.kill();

  const begun = performance.now();
  const [written, claimed, read] = await Promise.all([
    n1.nodeClient.write("kept", 8, WRITE_MS),
    n1.nodeClient.claim("mine", 1, WRITE_MS),
    n1.nodeClient.registers(WRITE_MS),
  ]);
  assert.deepEqual([codeOf(written), codeOf(claimed), codeOf(read)], ["no_leader", "no_leader", "no_leader"]);
  assert.ok(performance.now() - begun < LEADERLESS_MS, `answered after ${performance.now() - begun} ms`);
  const again = performance.now();
  assert.equal(codeOf(await n1.nodeClient.write("kept", 8, WRITE_MS)), "no_leader");
  const waitedMs = performance.now() - again;
  assert.ok(waitedMs > 4_500 && waitedMs < 6_500, `answered after ${waitedMs} ms`);
  assert.equal((await n1.nodeClient.localRegisters()).get("kept"), 7);
  const { role, leader, members } = await n1.nodeClient.status();
  assert.notEqual(role, "leader");
  assert.equal(leader, undefined);
  assert.deepEqual(
    members.map(({ id }) => id),
    THREE,
  );

  await n2.start();
  await cluster.leader();
  assert.equal((await n1.nodeClient.write("kept", 9, WRITE_MS)).kind, "done");
  const seen = await n2.nodeClient.registers(WRITE_MS);
  assert.equal(seen.kind === "done" ? seen.value.get("kept") : seen.message, 9);
});

const codeOf = (outcome: { readonly kind: string; readonly code?: string }): string => outcome.code ?? outcome.kind;

test("a leader low on disk space hands over leadership and accepts no writes until there is room", async (t) => {
  const disk = mountTmpfs(t, DISK_BYTES);
  if (disk === undefined) {
    t.skip("mounting a file system is not permitted here");
    return;
  }
  const cluster = await createCluster(t, { ids: THREE, dataDirs: new Map([["n1", disk.path]]) });
  await cluster.startAll();
  await cluster.leader();
  const n1 = cluster.node("n1");
  await until("n1 leads", async () => {
    await n1.nodeClient.transfer("n1");
    return (await cluster.leader()) === "n1";
  });
  await disk.fillTo(200 << 20);
  const next = await until("another leads", async () => {
    const leader = await cluster.leader();
    return leader !== "n1" && leader;
  });
  assert.match(n1.output(), /the disk is nearly full/);
  assert.equal((await n1.nodeClient.write("through-n1", 1, WRITE_MS)).kind, "done");
  assert.equal((await cluster.node(next).nodeClient.write("through-the-leader", 2, WRITE_MS)).kind, "done");
  await cluster.caughtUp();
  assert.equal((await n1.nodeClient.localRegisters()).get("through-the-leader"), 2);
  await disk.free();
  await until("n1 notices that there is room", () => /the disk has enough free space again/.test(n1.output()));
});

test("a single node low on disk space answers disk_low and keeps acknowledged writes; a full disk ends the process", async (t) => {
  const disk = mountTmpfs(t, DISK_BYTES);
  if (disk === undefined) {
    t.skip("mounting a file system is not permitted here");
    return;
  }
  const cluster = await createCluster(t, { ids: [] });
  const node = await cluster.add("n1", { begin: { kind: "bootstrap" }, dataDir: disk.path });
  await node.start();
  await cluster.leader();
  assert.equal((await node.nodeClient.write("kept", 7, WRITE_MS)).kind, "done");
  await disk.fillTo(200 << 20);
  await until("writes are refused", async () => codeOf(await node.nodeClient.write("low", 1, WRITE_MS)) === "disk_low");
  assert.equal((await node.nodeClient.localRegisters()).get("kept"), 7);
  await disk.free();
  await until("writes are taken", async () => (await node.nodeClient.write("again", 2, WRITE_MS)).kind === "done");

  await node.stop();
  await disk.fill();
  const { status, output } = await node.failsToStart();
  assert.equal(status, 11, output);
  assert.match(output, /is full .*free space on it, then start again/);
  assert.ok(output.includes(disk.path), output);
  await disk.free();
  await node.start();
  await cluster.leader();
  const contents = await node.nodeClient.localRegisters();
  assert.deepEqual([contents.get("kept"), contents.get("again")], [7, 2]);
});
