/**
 * A majority that returns with old copies of its directories elects a leader in an earlier term and loses later
 * acknowledged writes. This cannot be prevented; the node that has the writes and all others must report it, and must
 * not mix its entries with later ones.
 */
import assert from "node:assert/strict";
import { cp, rm } from "node:fs/promises";
import { test } from "node:test";
import { createCluster, type TestNode } from "./support/cluster.ts";
import { mustWrite, THREE } from "./support/members.ts";
import { until } from "./support/until.ts";

async function reasonsOf({ nodeClient }: TestNode): Promise<readonly string[]> {
  const { ready, reasons } = JSON.parse(await nodeClient.report()) as {
    readonly ready: boolean;
    readonly reasons: readonly string[];
  };
  return ready ? [] : reasons;
}

const KEPT = 6;

test("every node reports acknowledged writes that a majority has lost", async (t) => {
  const cluster = await createCluster(t, { ids: THREE });
  const [n1, n2, n3] = cluster.nodes as readonly [TestNode, TestNode, TestNode];
  await cluster.startAll();
  await cluster.leader();
  await mustWrite(n1, "before", 1);
  await cluster.caughtUp();
  await Promise.all(cluster.nodes.map((node) => node.stop()));
  for (const { dataDir } of [n2, n3]) await cp(dataDir, `${dataDir}-copy`, { recursive: true });
  await cluster.startAll();
  await cluster.leader();
  for (let value = 1; value <= KEPT; value += 1) await mustWrite(n1, `kept-${value}`, value);
  await cluster.caughtUp();
  await Promise.all(cluster.nodes.map((node) => node.stop()));
  for (const { dataDir } of [n2, n3]) {
    await rm(dataDir, { recursive: true });
    await cp(`${dataDir}-copy`, dataDir, { recursive: true });
  }

  await cluster.startAll(["n2", "n3"]);
  await cluster.leader(["n2", "n3"]);
  for (let value = 1; value <= 3 * KEPT; value += 1) await mustWrite(n2, `since-${value}`, value);
  await n1.start();
  for (const node of cluster.nodes) {
    const text = await until(`${node.id} is not ready and says why`, async () =>
      (await reasonsOf(node)).find((reason) => reason.includes("has lost acknowledged writes")),
    );
    // Either of them may lead now.
    assert.match(text, /hold different entries up to \d+ of the log/);
    assert.match(text, /First stop the nodes and copy the data directory of each\. .* 'gateway cluster recover'/);
    assert.ok(node.output().includes("has lost acknowledged writes"), node.output());
  }
  const registers = await n1.nodeClient.localRegisters();
  assert.equal(registers.get(`kept-${KEPT}`), KEPT, "what only it has stays");
  assert.ok(![...registers.keys()].some((name) => name.startsWith("since-")), "and is not mixed with what came since");
});
