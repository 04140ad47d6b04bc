/**
 * Nodes with wrong clocks in either direction: the log's time follows the others, each node reports what it sees, and
 * an outlier does not lead. The log's time is read from its stamps, the start of suspensions.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createAdminClient } from "../../../src/admin-api/index.ts";
import { createCluster, type TestNode } from "./support/cluster.ts";
import { mustWrite, THREE } from "./support/members.ts";
import { until } from "./support/until.ts";

const HOUR = 3_600_000;
/** Two nodes' clocks are read within a round trip, which takes longer on a loaded machine. */
const NEAR_MS = 5_000;

test("wrong clocks cause no change, are reported and do not lead", async (t) => {
  const cluster = await createCluster(t, { ids: THREE });
  const [n1, n2, n3] = cluster.nodes as readonly [TestNode, TestNode, TestNode];
  n1.settings = { ...n1.settings, clockShiftMs: 20_000 };
  await cluster.startAll();
  await cluster.leader();

  const offsetOf = async (queried: TestNode, id: string): Promise<number> =>
    await until(`${queried.id} knows the clock of ${id}`, async () => {
      const { members } = JSON.parse(await queried.nodeClient.report()) as {
        readonly members: readonly { readonly id: string; readonly clock_offset_ms: number | null }[];
      };
      return members.find((member) => member.id === id)?.clock_offset_ms ?? undefined;
    });

  /** Returns by how much the log's time is ahead of this machine's. */
  const logAhead = async (through: TestNode, register: string): Promise<number> => {
    await mustWrite(through, register, 1);
    const client = createAdminClient({ address: { kind: "socket", path: through.socketPath } });
    const { items } = await client.call("list_suspensions", {});
    client.close();
    const created = items.find(({ name }) => name === register)?.created_at ?? "";
    return Date.parse(created) - Date.now();
  };

  await t.test("a leader twenty seconds fast stamps the others' time, and every node reports it", async () => {
    assert.ok(Math.abs((await offsetOf(n2, "n1")) - 20_000) < NEAR_MS);
    assert.ok(Math.abs((await offsetOf(n1, "n2")) + 20_000) < NEAR_MS);
    assert.ok(Math.abs(await offsetOf(n2, "n3")) < NEAR_MS);
    await until("n1 leads", async () => {
      await n1.nodeClient.transfer("n1");
      return (await cluster.leader()) === "n1";
    });
    for (const node of cluster.nodes) {
      await until(`${node.id} tells it`, () => /ahead of the median of the members' clocks/.test(node.output()));
    }
    assert.ok(Math.abs(await logAhead(n2, "by-the-fast-one")) < NEAR_MS);
  });

  for (const [name, clockShiftMs] of [
    ["fast", HOUR],
    ["slow", -HOUR],
  ] as const) {
    await t.test(`a node with a clock an hour ${name} neither leads nor receives leadership`, async () => {
      await n1.stop();
      n1.settings = { ...n1.settings, clockShiftMs };
      await n1.start();
      await cluster.leader();
      for (const node of [n2, n3]) {
        const isRead = async () => Math.abs((await offsetOf(node, "n1")) - clockShiftMs) < NEAR_MS;
        await until(`${node.id} has read the clock of n1 anew`, isRead);
      }
      await until("n1 does not lead", async () => (await cluster.leader()) !== "n1");
      const transferred = await n2.nodeClient.transfer("n1");
      assert.ok(
        transferred.kind === "failed" && /the clock of n1 is far from/i.test(transferred.message),
        JSON.stringify(transferred),
      );

      const leader = await cluster.leader();
      const left = leader === "n2" ? n3 : n2;
      await cluster.node(leader).kill();
      assert.equal(await cluster.leader(["n1", left.id]), left.id);
      assert.ok(Math.abs(await logAhead(left, `beside-the-${name}-one`)) < NEAR_MS);
      await cluster.node(leader).start();
      await cluster.leader();
    });
  }
});
