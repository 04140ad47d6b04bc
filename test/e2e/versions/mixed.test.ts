/**
 * Clusters of an older build and this one, under load: upgraded node by node, one downgraded before the feature level
 * rises, archives restored in both directions. No write is lost, no request refused except at connect, and all have the
 * same rows.
 *
 * `GATEWAY_VERSIONS=all` uses every older build and every order of upgrading three nodes.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { FEATURE_RANGE } from "../../../src/server/core/state/index.ts";
import { OLDER_BUILDS, type OlderBuild } from "../../server/core/state/versions/closed.ts";
import { createCluster, type TestCluster, type TestNode } from "../cluster/support/cluster.ts";
import { until } from "../cluster/support/until.ts";
import { atEnd } from "../support/wait.ts";
import { factsOf, sameDigest } from "./support/archives.ts";
import { missing, patchedProgram, programOf } from "./support/older-build.ts";
import { NEWEST, type Step, upgrade } from "./support/upgrade.ts";

const ALL_ORDERS = ["n1 n2 n3", "n1 n3 n2", "n2 n1 n3", "n2 n3 n1", "n3 n1 n2", "n3 n2 n1"];
const IS_LONG = process.env["GATEWAY_VERSIONS"] === "all";
const SEED = Number(process.env["GATEWAY_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

/** The newest builds below this one's level: with them the level rises. */
const NEAREST = OLDER_BUILDS.filter(({ level }) => level < FEATURE_RANGE.max).slice(-1);

for (const older of IS_LONG ? OLDER_BUILDS : NEAREST) {
  for (const order of IS_LONG ? ALL_ORDERS : [ALL_ORDERS[SEED % ALL_ORDERS.length]!]) {
    test(
      `a cluster upgrades from ${older.commit.slice(0, 8)} (${older.about}) to this build, ${order}, with one rollback`,
      {
        skip: missing(older),
      },
      (t) => thereAndBack(t, older, order.split(" ")),
    );
  }
}

async function thereAndBack(
  t: TestContext,
  older: OlderBuild,
  [first = "", second = "", third = ""]: readonly string[],
) {
  t.diagnostic(`seed ${SEED}`);
  const old = programOf(older);
  const steps: readonly Step[] = [
    { id: first, program: NEWEST },
    { id: second, program: NEWEST },
    { id: first, program: old },
    { id: first, program: NEWEST },
    { id: third, program: NEWEST },
  ];
  const archives: Uint8Array[] = [];
  const { cluster, facts, ...counts } = await upgrade(t, {
    older: old,
    seed: SEED,
    steps,
    async onStep(mixed, { id }) {
      if (id === third) return;
      archives.push(await mixed.node(id).nodeClient.save(true));
      const { feature_level: level } = await factsOf(archives.at(-1)!);
      assert.ok(level <= older.level, `level ${level} while a member knows no more than ${older.level}`);
    },
  });
  t.diagnostic(JSON.stringify({ ...counts, index: facts.index, digest: facts.digest }));
  await until(`level ${FEATURE_RANGE.max}`, async () => (await levelOf(cluster.nodes[0]!)) === FEATURE_RANGE.max);

  if (older.level < FEATURE_RANGE.max) await isRefusedUnharmed(cluster.node(second), old);
  await restoresBothWays(t, cluster, { old, isHigher: older.level < FEATURE_RANGE.max, archives });
}

const levelOf = async ({ nodeClient }: TestNode): Promise<number> =>
  (await factsOf(await nodeClient.save(true))).feature_level;

/** An older build on the directory of a node whose cluster has moved on: it reports that and ends without damage. */
async function isRefusedUnharmed(node: TestNode, old: string): Promise<void> {
  await node.stop();
  const { program: newest, ...rest } = node.settings;
  node.settings = { ...rest, program: old };
  const { status, output } = await node.failsToStart();
  assert.equal(status, 11, output);
  // The second wording is that of builds since level 4.
  assert.match(
    output,
    /feature level \d+, (?:which this build does not know|and this build knows levels 1 to \d+ of it)/,
  );
  node.settings = { ...rest, ...(newest !== undefined && { program: newest }) };
  await node.start();
}

interface Restores {
  readonly old: string;
  /** Whether the cluster's level is above the older build's. */
  readonly isHigher: boolean;
  readonly archives: readonly Uint8Array[];
}

/** Restores into the new cluster an archive of a mixed one, and into a cluster of the older build both archives. */
async function restoresBothWays(t: TestContext, cluster: TestCluster, { old, isHigher, archives }: Restores) {
  const leader = cluster.node(await cluster.leader());
  const newest = await leader.nodeClient.save(true);
  for (const archive of archives.slice(0, 1)) {
    const restored = await leader.nodeClient.restore(archive);
    assert.equal(restored.kind, "done", JSON.stringify(restored));
  }
  assert.equal(await levelOf(leader), FEATURE_RANGE.max, "a level is never lowered");
  await sameDigest(cluster);

  const single = await createCluster(t, { ids: [] });
  const settings = { begin: { kind: "bootstrap" }, program: old, isWithoutFile: true } as const;
  const node = await single.add("n9", settings);
  await node.start();
  await single.leader();
  for (const archive of archives.slice(-1)) {
    const restored = await node.nodeClient.restore(archive);
    assert.equal(restored.kind, "done", JSON.stringify(restored));
  }
  const registers = await node.nodeClient.localRegisters();
  assert.ok(registers.size > 0, "the older build has what the newer one wrote");
  if (!isHigher) return;
  const refused = await node.nodeClient.restore(newest);
  assert.equal(refused.kind, "failed", JSON.stringify(refused));
  assert.deepEqual(await node.nodeClient.localRegisters(), registers, "a refused archive changes nothing");
}

test("a build that changes the meaning of a command without a new feature level is detected by a mixed cluster", async (t) => {
  const broken = await patchedProgram({
    path: "src/server/core/state/commands/suspensions.ts",
    from: "suspensionRows.write({ ...params, at: now",
    to: "suspensionRows.write({ ...params, reason: `${params.reason} `, at: now",
  });
  atEnd(t, broken.remove);
  const steps = [{ id: "n3", program: broken.program }];
  await assert.rejects(upgrade(t, { older: NEWEST, seed: SEED, steps }), /has another state at index|diverged/);
});
