/**
 * Messages of a node that is too old for its cluster or its directory: it ends with status 11, names the mismatch and
 * the remedy, and leaves the directory to the build that can read it.
 */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { FEATURE_RANGE } from "../../../src/server/core/state/index.ts";
import { createCluster, type TestCluster, type TestNode } from "../cluster/support/cluster.ts";
import { until } from "../cluster/support/until.ts";
import { atEnd } from "../support/wait.ts";
import { factsOf, sameDigest } from "./support/archives.ts";
import { patchedProgram } from "./support/older-build.ts";

const { version: VERSION } = createRequire(import.meta.url)("../../../package.json") as { readonly version: string };
const HIGHER = FEATURE_RANGE.max + 1;
const REMEDY =
  /is of feature level \d+, and this build knows levels 1 to \d+.*run the version that .*restore a snapshot/;

/** A build with one level more. */
const future = () =>
  patchedProgram({
    path: "src/server/core/state/commands/feature.ts",
    from: "max: FEATURE_LEVELS.length",
    to: "max: FEATURE_LEVELS.length + 1",
  });

function runs(node: TestNode, program: string | undefined): void {
  const { program: _, ...rest } = node.settings;
  node.settings = { ...rest, ...(program !== undefined && { program }) };
}

async function replace(cluster: TestCluster, id: string, program: string | undefined): Promise<void> {
  const node = cluster.node(id);
  await node.stop();
  runs(node, program);
  await node.start();
  await cluster.leader();
}

test("a node downgraded while the feature level rose without it ends with the remedy, and resumes after an upgrade", async (t) => {
  const { program, remove } = await future();
  atEnd(t, remove);
  const cluster = await createCluster(t, { ids: ["n1", "n2", "n3"] });
  await cluster.startAll();
  await cluster.leader();
  const [n1, n2, n3] = cluster.nodes as readonly [TestNode, TestNode, TestNode];
  for (const id of ["n3", "n1"]) await replace(cluster, id, program);
  assert.equal((await n1.nodeClient.write("before", 1, 20_000)).kind, "done");
  await cluster.caughtUp();
  const { feature } = JSON.parse(await n1.nodeClient.report()) as { readonly feature: unknown };
  const waiting = `level ${HIGHER} waits for n2, which runs ${VERSION} (levels to ${FEATURE_RANGE.max})`;
  assert.deepEqual(feature, { level: FEATURE_RANGE.max, highest: FEATURE_RANGE.max, waiting });
  await n3.stop();
  await replace(cluster, "n2", program);
  const level = async (): Promise<number> => (await factsOf(await n1.nodeClient.save(true))).feature_level;
  await until(`level ${HIGHER}`, async () => (await level()) === HIGHER);
  assert.equal((await n1.nodeClient.write("after", 2, 20_000)).kind, "done");

  runs(n3, undefined);
  for (const turn of ["it meets the level in the log", "again"]) {
    const { status, output } = await n3.failsToStart();
    assert.equal(status, 11, `${turn}: ${output}`);
    assert.match(output, REMEDY, turn);
  }
  runs(n3, program);
  await n3.start();
  await cluster.leader();
  await sameDigest(cluster);
  assert.equal((await n3.nodeClient.localRegisters()).get("after"), 2);

  await n2.stop();
  runs(n2, undefined);
  const { status, output } = await n2.failsToStart();
  assert.equal(status, 11, output);
  assert.match(output, REMEDY, "its own directory has the level");
  runs(n2, program);
  await n2.start();
  await cluster.leader();

  await sameDigest(cluster);

  const n4 = await cluster.add("n4", { begin: { kind: "join", through: ["n1"] } });
  await n4.launch();
  const refusal = /does not speak the cluster's feature level \d+: run a version that does/;
  await until("n4 learns that it is too old", () => refusal.test(n4.output()));
  await n4.kill();
});
