// tier: all
/** Three nodes in one process, each with its worker thread, over loopback TLS. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { extract } from "tar-stream";
import { openCluster } from "../../../src/server/cluster/open-cluster.ts";
import type { Cluster } from "../../../src/server/cluster/types.ts";
import { bytesOf, makeDir, piecesOf } from "./support/archives.ts";
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
import { keyCommand } from "./support/machine-bench.ts";
import { failure, memoryLog, until } from "./support/outcome.ts";

/** The same bytes from every sender. */
const ONCE = keyCommand("once");

const IDS = ["a", "b", "c"] as const;

const followersOf = (nodes: readonly TestNode[], leader: TestNode): readonly TestNode[] =>
  nodes.filter((node) => node !== leader);

function twoOf(nodes: readonly TestNode[], leader: TestNode): readonly [TestNode, TestNode] {
  const [first, second] = followersOf(nodes, leader);
  assert.ok(first !== undefined && second !== undefined);
  return [first, second];
}

/** Returns `state.bin` of the node's archive, and its index. */
async function stateFileOf(node: Cluster): Promise<{ readonly index: number; readonly state: Buffer }> {
  const { info, archive } = await node.saveSnapshot({ stale: true, signal: new AbortController().signal });
  const tar = extract();
  tar.end(gunzipSync(await bytesOf(archive)));
  for await (const member of tar) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of member) chunks.push(chunk as Uint8Array);
    if (member.header.name === "state.bin") return { index: info.index, state: Buffer.concat(chunks) };
  }
  return assert.fail("the archive has no state.bin");
}

/** Compares all nodes at one index; a node that proposes something in between is asked again. */
async function equalStateFiles(nodes: readonly TestNode[]): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    await Promise.all(nodes.map((node) => node.readBarrier({ timeoutMs: 10_000 })));
    const files = await Promise.all(nodes.map(stateFileOf));
    if (new Set(files.map(({ index }) => index)).size !== 1) continue;
    for (const { state } of files) assert.deepEqual(state, files[0]?.state);
    return;
  }
  assert.fail("the nodes did not stand at one index");
}

async function join(t: TestContext, id: string, through: TestNode): Promise<TestNode> {
  const [own] = await addressesOf([id]);
  assert.ok(own !== undefined);
  const start = { kind: "join", addresses: [through.options.forwardAddr], bootstrapAfterMs: undefined } as const;
  return await openFor(t, optionsOf(t, own, start));
}

test("three nodes elect a leader, and all can read a write made on any of them", async (t) => {
  const nodes = await openTogether(t, IDS);
  let closed: TestNode | undefined;
  for (const node of nodes) assert.deepEqual(voterIds(node), IDS);
  await Promise.all(nodes.map((node) => writeKey(node, `by-${node.options.nodeId}`)));
  for (const node of nodes) {
    await node.readBarrier({ timeoutMs: 10_000 });
    for (const id of IDS) assert.ok(hasKey(node, `by-${id}`), `${node.options.nodeId} lacks the key by ${id}`);
  }

  await t.test("a read barrier on any node sees what was just acknowledged on another", async () => {
    for (let round = 0; round < 10; round += 1) {
      const writer = nodes[round % 3];
      const reader = nodes[(round + 1) % 3];
      assert.ok(writer !== undefined && reader !== undefined);
      await writeKey(writer, `round${round}`);
      await reader.readBarrier({ timeoutMs: 10_000 });
      assert.ok(hasKey(reader, `round${round}`));
    }
  });

  await t.test("bug 38: the same request sent to every node at once is executed once", async () => {
    const idempotency = { key: "unix:0/once", digest: "d".repeat(64) };
    const results = await Promise.all(nodes.map((node) => node.write(ONCE, options({ idempotency }))));
    for (const result of results) assert.deepEqual(result, results[0]);
    assert.equal(results[0]?.kind, "ok");
  });

  await t.test("snapshots of all nodes at one index are identical", () => equalStateFiles(nodes));

  await t.test("a follower gives a snapshot only if a possibly stale one was requested", async () => {
    const [follower] = twoOf(nodes, await leaderOf(nodes));
    await assert.rejects(
      follower.saveSnapshot({ stale: false, signal: new AbortController().signal }),
      failure("conflict", /does not lead/),
    );
  });

  await t.test("bug 30: leadership is transferred as asked on any node, and writes continue", async () => {
    for (let round = 0; round < 3; round += 1) {
      const leader = await leaderOf(nodes);
      const [next, asked] = twoOf(nodes, leader);
      const id = next.options.nodeId;
      const writes = Promise.all(Array.from({ length: 20 }, (_, at) => writeKey(leader, `moved${round}-${at}`)));
      assert.equal(await asked.transferLeader(id, options()), id);
      await writes;
      assert.equal((await leaderOf(nodes)).options.nodeId, id);
    }
    await assert.rejects(nodes[0]?.transferLeader("x", options()) ?? Promise.resolve(), failure("invalid"));
  });

  await t.test("a restore sent to a follower replaces the rows on all nodes", async () => {
    const [follower, other] = twoOf(nodes, await leaderOf(nodes));
    const { archive } = await follower.saveSnapshot({ stale: true, signal: new AbortController().signal });
    const bytes = await bytesOf(archive);
    await writeKey(other, "after-the-archive");
    await follower.restore(piecesOf(bytes), options());
    for (const node of nodes) {
      await node.readBarrier({ timeoutMs: 10_000 });
      assert.equal(hasKey(node, "after-the-archive"), false);
      assert.ok(hasKey(node, "by-a"));
      assert.deepEqual(voterIds(node), IDS);
    }
    await equalStateFiles(nodes);
  });

  await t.test("when the leader goes, another leads and accepts writes", async () => {
    const leader = await leaderOf(nodes);
    const rest = followersOf(nodes, leader);
    await leader.close();
    closed = leader;
    await Promise.all(rest.map((node) => writeKey(node, `without-${node.options.nodeId}`)));
    const next = await leaderOf(rest);
    assert.notEqual(next, leader);
    for (const node of rest) {
      await node.readBarrier({ timeoutMs: 10_000 });
      for (const { options: of } of rest) assert.ok(hasKey(node, `without-${of.nodeId}`));
    }
  });

  await t.test("without a quorum writes and reads end in time as unknown or not done", async () => {
    const [last, other] = nodes.filter((node) => node !== closed);
    assert.ok(last !== undefined && other !== undefined);
    await other.close();
    await assert.rejects(last.write(ONCE, options({ timeoutMs: 2_500 })), failure("no_leader"));
    await assert.rejects(last.readBarrier({ timeoutMs: 1_000 }), failure("no_leader"));
    assert.ok(hasKey(last, "by-a"), "what it has can still be read");
  });
});

test("a fourth node joins through a follower and has all data and a vote", async (t) => {
  const nodes = await openTogether(t, IDS);
  const leader = await leaderOf(nodes);
  const [follower] = twoOf(nodes, leader);
  for (let at = 0; at < 30; at += 1) await writeKey(leader, `key${at}`);
  const fourth = await join(t, "d", follower);
  await until("it votes", () => voterIds(leader).includes("d"), 20_000);
  await fourth.readBarrier({ timeoutMs: 10_000 });
  assert.ok(hasKey(fourth, "key29"));
  await writeKey(fourth, "by-d");
  await leader.readBarrier({ timeoutMs: 10_000 });
  assert.ok(hasKey(leader, "by-d"));
  await equalStateFiles([...nodes, fourth]);

  await t.test("bug 32: a prune sent to a follower that removes the leader is answered once it is done", async () => {
    const all = [...nodes, fourth];
    const now = await leaderOf(all);
    const [asked] = followersOf(all, now);
    assert.ok(asked !== undefined);
    const kept = followersOf(all, now).slice(0, 2);
    const keep = kept.map(({ options: { nodeId } }) => nodeId).sort();
    assert.ok(keep.includes(asked.options.nodeId));
    await asked.prune(keep, options());
    const next = await leaderOf(kept);
    assert.ok(keep.includes(next.options.nodeId));
    for (const node of kept) {
      await until("it knows the members", () => voterIds(node).join() === keep.join());
      await writeKey(node, `kept-${node.options.nodeId}`);
    }
    await until("the removed leader knows", () => now.status().role === "removed", 20_000);
    await assert.rejects(now.write(ONCE, options()), failure("removed"));
    await asked.prune(keep, options());
    await assert.rejects(asked.prune([...keep, "x"], options()), failure("invalid", /not a member: x/));
  });
});

test("a node that no member admits gives up with the reason of each address, and bootstraps only if allowed", async (t) => {
  const [own, peer] = await addressesOf(["d", "nobody"]);
  assert.ok(own !== undefined && peer !== undefined);
  const start = { kind: "join", addresses: [peer.forwardAddr], bootstrapAfterMs: 300 } as const;
  const node = await openFor(t, optionsOf(t, own, start));
  await writeKey(node, "alone");
  assert.deepEqual(voterIds(node), ["d"]);
  assert.ok(node.lines.some(({ message }) => message.includes("no join address answered")));

  const stop = new AbortController();
  t.after(() => stop.abort());
  const [outsider] = await addressesOf(["e"]);
  assert.ok(outsider !== undefined);
  let rounds = 0;
  const closing = createServer((socket) => {
    rounds += 1;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  t.after(() => closing.close());
  await once(closing, "listening");
  const addresses = [own.forwardAddr, `127.0.0.1:${(closing.address() as AddressInfo).port}`];
  const wrong = {
    ...optionsOf(t, outsider, { kind: "join", addresses, bootstrapAfterMs: 0 }),
    secret: "another secret of the tests, as long",
    dataDir: makeDir(t),
  };
  const { log, lines } = memoryLog();
  const joining = openCluster({ ...wrong, log }, stop.signal);
  await until("both addresses were asked several times", () => rounds >= 4);
  const refusals = lines.filter(
    ({ message, fields }) => message === "not admitted yet" && fields?.["address"] === addresses[0],
  );
  assert.match(JSON.stringify(refusals), /is `cluster\.secret` the same on both nodes\?/);
  assert.equal(refusals.length, 1, "the same answer of an address is logged once");
  stop.abort(new Error("enough"));
  await assert.rejects(joining, /enough/);
  assert.equal(
    lines.some(({ message }) => message.includes("starts a cluster of its own")),
    false,
    "another secret is an answer, not silence",
  );
});
