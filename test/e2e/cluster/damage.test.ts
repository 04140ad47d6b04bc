/**
 * Damage to the files of a stopped node is noticed at the next start, reported with directory and remedy, and does not
 * affect the others; the node returns with an empty directory.
 */
import assert from "node:assert/strict";
import { cp, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createCluster, type TestNode } from "./support/cluster.ts";
import { DAMAGES, MAY_BE_HARMLESS } from "./support/damage.ts";
import { rejoinBlank } from "./support/faults.ts";
import { until } from "./support/until.ts";

const REFUSED = 11;
const LAST_WRITES = 12;

test("damaged files are refused with status 11, the directory and the remedy, and nothing in it is changed", async (t) => {
  const cluster = await createCluster(t, { ids: ["n1", "n2", "n3"] });
  await cluster.startAll();
  await cluster.leader();
  const [n1, n3] = [cluster.node("n1"), cluster.node("n3")];
  for (let value = 1; value <= 60; value += 1) {
    assert.equal((await n1.nodeClient.write(`before-${value}`, value, 10_000)).kind, "done");
  }
  await cluster.caughtUp();
  // Two kills leave tables beside the write-ahead log.
  await n3.kill();
  await n3.start();
  // Several writes in a file of their own: the guard may be a flush or two behind, and half of the log is more than
  // that.
  for (let value = 1; value <= LAST_WRITES; value += 1) {
    assert.equal((await n3.nodeClient.write("through-n3", value, 10_000)).kind, "done");
  }
  await n3.kill();
  const whole = `${n3.dataDir}-whole`;
  await rename(n3.dataDir, whole);

  for (const [name, damage] of Object.entries(DAMAGES)) {
    // In a directory at rest the last record of the MANIFEST counts.
    if (MAY_BE_HARMLESS.has(name) && !name.startsWith("MANIFEST")) continue;
    await t.test(name, async () => {
      await rm(n3.dataDir, { recursive: true, force: true });
      await cp(whole, n3.dataDir, { recursive: true });
      const done = await damage(n3.dataDir);
      assert.ok(done !== undefined, "there was nothing to damage");
      const guard = await contentOf(join(n3.dataDir, "raft-guard"));
      const { status, output } = await n3.failsToStart();
      assert.equal(status, REFUSED, `${done}, and it started:\n${output}`);
      assert.ok(output.includes(n3.dataDir), output);
      assert.match(output, /move it away and start this node with an empty one that joins its cluster/);
      assert.match(output, /gateway cluster recover/);
      assert.deepEqual(await contentOf(join(n3.dataDir, "raft-guard")), guard);
      assert.equal((await n3.failsToStart()).status, REFUSED, "a second start did not refuse it any more");
      assert.equal((await n1.nodeClient.write(name.replaceAll(" ", "-"), 1, 10_000)).kind, "done");
    });
  }

  await t.test("an undamaged copy of the same directory starts", async () => {
    await rm(n3.dataDir, { recursive: true, force: true });
    await cp(whole, n3.dataDir, { recursive: true });
    await n3.start();
    await cluster.leader();
    await n3.stop();
  });

  await t.test("with an empty directory the node joins again and receives everything", async () => {
    await n3.blank();
    await rejoinBlank({ cluster }, n3);
    await cluster.caughtUp();
    const contents = await n3.nodeClient.localRegisters();
    assert.deepEqual([...contents].sort(), [...(await n1.nodeClient.localRegisters())].sort());
    assert.equal(contents.get("before-60"), 60);
  });
});

test("a node whose files are removed while it runs ends with status 11, instead of acknowledging what it cannot keep", async (t) => {
  const cluster = await createCluster(t, { ids: ["n1", "n2", "n3"] });
  await cluster.startAll();
  const leader = await cluster.leader();
  const [first, second] = cluster.nodes.filter(({ id }) => id !== leader) as [TestNode, TestNode];
  for (const name of await readdir(first.dataDir)) await rm(join(first.dataDir, name), { recursive: true });
  await until("the node without files ends", async () => !first.isRunning);
  assert.match(first.output(), /its files were removed or moved while the node ran\)\. Do not use it again/);
  assert.ok(first.output().includes(first.dataDir));
  assert.equal((await second.nodeClient.write("after", 1, 10_000)).kind, "done");
  await rejoinBlank({ cluster }, first);
  await cluster.caughtUp();
  assert.equal((await first.nodeClient.localRegisters()).get("after"), 1);

  // The whole directory, of another node.
  await rename(second.dataDir, `${second.dataDir}-moved`);
  await until("the node without a directory ends", async () => !second.isRunning);
  assert.match(second.output(), /its files were removed or moved while the node ran/);
});

async function contentOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  return found.isDirectory() ? (await readdir(path)).join() : (await readFile(path)).toString("hex");
}
