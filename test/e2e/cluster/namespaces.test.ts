/** Nodes in separate network namespaces, as on separate machines: links go down and lose packets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createCluster } from "./support/cluster.ts";
import { THREE } from "./support/members.ts";
import { createNamespaces } from "./support/namespaces.ts";
import { createRandom } from "./support/random.ts";
import { until } from "./support/until.ts";
import { startWorkload } from "./support/workload.ts";

const seed = Number(process.env["GATEWAY_TEST_SEED"] ?? Date.now() % 1_000_000);

test(`a leader whose link goes down is replaced, with no lost acknowledged write and no stale read (seed ${seed})`, async (t) => {
  const network = createNamespaces(t, THREE);
  if (network === undefined) {
    t.skip("network namespaces are not permitted here");
    return;
  }
  const places = new Map(THREE.map((id) => [id, { host: network.addressOf(id), prefix: network.prefixOf(id) }]));
  const cluster = await createCluster(t, { ids: THREE, places });
  await cluster.startAll();
  const first = await cluster.leader();
  const workload = startWorkload({ cluster, random: createRandom(seed), name: "namespaces" });
  const progress = async (count = 20): Promise<void> => {
    const wanted = workload.acknowledged() + count;
    await until(`${count} more acknowledged writes`, () => workload.acknowledged() >= wanted);
  };
  try {
    await progress();
    network.setLink(first, "down");
    const second = await cluster.leader(THREE.filter((id) => id !== first));
    assert.notEqual(second, first);
    await progress();
    network.setLink(first, "up");
    await cluster.leader();
    await progress();

    if (network.disturb(second, 15, 20)) {
      await progress(40);
      network.clearDelay(second);
    } else t.diagnostic("no packets could be lost here");
    await cluster.leader();
  } finally {
    await workload.stop();
  }
  for (const node of cluster.nodes) await workload.readFinal(node);
  assert.deepEqual(workload.problems(), []);
  const { acknowledged, reads } = workload.tally;
  t.diagnostic(`${acknowledged} writes, ${reads} reads`);
});
