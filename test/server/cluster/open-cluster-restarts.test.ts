// tier: all
/** Nodes closed and opened again, after restores and in a loop of failovers, over loopback TLS. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf, piecesOf } from "./support/archives.ts";
import {
  addressesOf,
  hasKey,
  leaderOf,
  openFor,
  openTogether,
  options,
  optionsOf,
  type TestNode,
  voterIds,
  writeKey,
} from "./support/cluster-bench.ts";
import { until } from "./support/outcome.ts";

const NEVER = new AbortController().signal;

test("bug 34: after a restore and a restart a joining node gets everything, and another restart finds it complete", async (t) => {
  const [first, second] = await addressesOf(["a", "b"]);
  assert.ok(first !== undefined && second !== undefined);
  const input = optionsOf(t, first, { kind: "bootstrap" });
  let node = await openFor(t, input);
  for (let at = 0; at < 20; at += 1) await writeKey(node, `key${at}`);
  const { archive } = await node.saveSnapshot({ stale: false, signal: NEVER });
  const bytes = await bytesOf(archive);
  await writeKey(node, "gone");
  await node.restore(piecesOf(bytes), options());
  await node.close();

  node = await openFor(t, input);
  await writeKey(node, "after-the-restart");
  assert.equal(hasKey(node, "gone"), false);
  const start = { kind: "join", addresses: [first.forwardAddr], bootstrapAfterMs: undefined } as const;
  const joined = await openFor(t, optionsOf(t, second, start));
  await until("it votes", () => voterIds(node).includes("b"), 20_000);
  await joined.readBarrier({ timeoutMs: 10_000 });
  assert.deepEqual([...joined.view.scan("key/")], [...node.view.scan("key/")]);
  assert.ok(hasKey(joined, "key19") && hasKey(joined, "after-the-restart"));
  const rows = [...joined.view.scan("key/")];
  await Promise.all([node.close(), joined.close()]);

  const again = await Promise.all([openFor(t, input), openFor(t, joined.options)]);
  await leaderOf(again);
  for (const each of again) {
    await each.readBarrier({ timeoutMs: 10_000 });
    assert.deepEqual([...each.view.scan("key/")], rows);
  }
});

test("bug 39: failovers in a loop, with snapshots, lose nothing and end with equal rows", async (t) => {
  const nodes = [...(await openTogether(t, ["a", "b", "c"]))];
  const written: string[] = [];
  const put = async (node: TestNode, name: string): Promise<void> => {
    await writeKey(node, name);
    written.push(name);
  };
  for (let round = 0; round < 2; round += 1) {
    const leader = await leaderOf(nodes);
    const rest = nodes.filter((node) => node !== leader);
    await Promise.all(nodes.map((node, at) => put(node, `round${round}-${at}`)));
    await Promise.all(
      nodes.map(async (node) => {
        const { archive } = await node.saveSnapshot({ stale: true, signal: NEVER });
        assert.ok((await bytesOf(archive)).length > 0);
      }),
    );
    await leader.close();
    await Promise.all(rest.map((node, at) => put(node, `round${round}-without-${at}`)));
    nodes.splice(nodes.indexOf(leader), 1, await openFor(t, leader.options));
    await leaderOf(nodes);
  }
  for (const node of nodes) {
    await node.readBarrier({ timeoutMs: 10_000 });
    for (const name of written) assert.ok(hasKey(node, name), `${node.options.nodeId} lacks ${name}`);
    assert.deepEqual([...node.view.scan("key/")], [...(nodes[0]?.view.scan("key/") ?? [])]);
  }
});
