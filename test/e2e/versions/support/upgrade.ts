/** A three-node cluster upgraded from one build to another under load, node by node, and its invariants meanwhile. */
import assert from "node:assert/strict";
import { createCluster, type TestCluster, type TestNode } from "../../cluster/support/cluster.ts";
import { createRandom } from "../../cluster/support/random.ts";
import { GATEWAY } from "../../cluster/support/settings.ts";
import { until } from "../../cluster/support/until.ts";
import { startWorkload } from "../../cluster/support/workload.ts";
import { freePort } from "../../support/ports.ts";
import type { Owner } from "../../support/wait.ts";
import { type ArchiveFacts, sameDigest } from "./archives.ts";
import { chargedTo, editionOf, mintKey, putSource, startLoad, startProvider } from "./load.ts";

/** A node, and `bin/gateway` of its next build. */
export interface Step {
  readonly id: string;
  readonly program: string;
}

interface Upgrade {
  /** `bin/gateway` with which all begin. */
  readonly older: string;
  readonly seed: number;
  /** Steps in order. */
  readonly steps: readonly Step[];
  /** Called after each step, under load. */
  readonly onStep?: (cluster: TestCluster, step: Step) => Promise<void>;
}

interface Upgraded {
  readonly cluster: TestCluster;
  readonly facts: ArchiveFacts;
  readonly served: number;
  readonly refusedConnects: number;
  readonly leaderless: number;
  readonly acknowledged: number;
  readonly editions: number;
}

const IDS = ["n1", "n2", "n3"];

/** Resolves with the final cluster, without load; rejects with the first violated invariant. */
export async function upgrade(owner: Owner, { older, seed, steps, onStep }: Upgrade): Promise<Upgraded> {
  const provider = await startProvider(owner);
  const cluster = await createCluster(owner, { ids: IDS });
  const ports: number[] = [];
  for (const node of cluster.nodes) {
    const port = await freePort();
    ports.push(port);
    node.settings = { ...node.settings, program: older, listen: `127.0.0.1:${port}`, isWithoutFile: true };
  }
  await cluster.startAll();
  const leader = cluster.node(await cluster.leader());
  await putSource(leader, provider.url, 1);
  const key = await mintKey(leader);
  for (const port of ports) await serves(port, key);
  let doing = "before the first step";
  const load = startLoad({ cluster, provider: provider.url, key, ports, doing: () => doing });
  const workload = startWorkload({ cluster, random: createRandom(seed), name: "upgrade", clients: 3 });
  try {
    for (const step of steps) {
      const node = cluster.node(step.id);
      await progress(workload, load);
      const leads = await cluster.leader();
      doing = `${step.id} stops, ${leads} leads`;
      await node.stop();
      node.settings = { ...node.settings, program: step.program };
      doing = `${step.id} starts`;
      await node.start();
      await serves(ports[IDS.indexOf(step.id)] ?? 0, key);
      doing = `${step.id} has started`;
      await cluster.leader();
      await progress(workload, load);
      await onStep?.(cluster, step);
    }
  } finally {
    await workload.stop();
    await load.stop();
  }
  for (const node of cluster.nodes) await workload.readFinal(node);
  assert.deepEqual(workload.problems(), []);
  assert.deepEqual(load.failures, [], "clients that repeat refused connects alone see no failure");
  const facts = await sameDigest(cluster);
  for (const node of cluster.nodes) {
    await until(`${node.id} has the last revision`, async () => (await editionOf(node)) >= load.edition);
    assert.ok(!/is not that of its leader|differs from that of its leader/.test(node.output()), `${node.id} diverged`);
  }
  await isCharged(cluster.nodes[0]!, provider.requests());
  const { served, refusedConnects, leaderless, edition: editions } = load;
  assert.ok(leaderless * 20 <= served, `${leaderless} of ${served} requests found no leader`);
  return { cluster, facts, served, refusedConnects, leaderless, editions, acknowledged: workload.acknowledged() };
}

/** Whether every request is charged, and none twice except those that could not be reported. */
async function isCharged(node: TestNode, requests: number): Promise<void> {
  await until("all requests are charged", async () => (await chargedTo(node)).used >= requests);
  const { used, unaccounted } = await chargedTo(node);
  assert.ok(used - unaccounted <= requests, `${used} charged, ${unaccounted} untold, of ${requests}`);
}

async function serves(port: number, key: string): Promise<void> {
  await until(`port ${port} serves`, async () => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: "m", max_tokens: 1, messages: [{ role: "user", content: "?" }] }),
    });
    await response.arrayBuffer();
    return response.status === 200;
  });
}

async function progress(workload: { acknowledged(): number }, load: { readonly served: number }): Promise<void> {
  const [writes, requests] = [workload.acknowledged() + 10, load.served + 20];
  await until("clients go on", () => workload.acknowledged() >= writes && load.served >= requests);
}

export const NEWEST = GATEWAY;
