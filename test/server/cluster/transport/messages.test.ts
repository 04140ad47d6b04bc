/** Consensus messages between transports, over real TLS sockets. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeFrame, encodeMessage, KIND } from "../../../../src/server/cluster/wire/index.ts";
import { eventually } from "../../../e2e/support/wait.ts";
import { identityOf, OTHER_SECRET } from "../identity/made.ts";
import { manualTiming } from "../wire/manual-timing.ts";
import { helloFrame, rawPeer } from "../wire/raw-peer.ts";
import { selfOf } from "../wire/selves.ts";
import { addressOf, know, messageOf, type TestNode, testNode } from "./harness.ts";
import { relayTo } from "./relay.ts";

const stateOf = ({ transport }: TestNode, id: string) => transport.connections().find((peer) => peer.id === id);
const isUp = (node: TestNode, id: string) => stateOf(node, id)?.state === "up";

test("messages arrive in order and complete, each direction on its own connection", async (context) => {
  const [n1, n2] = await Promise.all([testNode(context, "n1"), testNode(context, "n2")]);
  know(n1, addressOf(n2));
  know(n2, addressOf(n1));
  const entries = [{ index: 1, term: 1, kind: "normal" as const, data: new Uint8Array(1_000).fill(7) }];
  for (let index = 0; index < 300; index++)
    n1.transport.send(messageOf("n1", "n2", { type: "MsgApp", index, entries }));
  n2.transport.send(messageOf("n2", "n1", { commit: 9 }));
  await eventually("all have arrived", () => n2.messages.length === 300 && n1.messages.length === 1);
  assert.deepEqual(
    n2.messages.map(({ index }) => index),
    Array.from({ length: 300 }, (_, index) => index),
  );
  assert.deepEqual(n2.messages[0]?.entries[0]?.data, Buffer.alloc(1_000, 7));
  assert.equal(n1.messages[0]?.commit, 9);
  assert.deepEqual([n1.transport.stats().links, n2.transport.stats().links], [1, 1]);
});

test("a message to an unknown or removed member is dropped silently", async (context) => {
  const [n1, n2] = await Promise.all([testNode(context, "n1"), testNode(context, "n2")]);
  n1.transport.send(messageOf("n1", "n2"));
  know(n1, addressOf(n2));
  await eventually("it is connected", () => isUp(n1, "n2"));
  know(n1);
  n1.transport.send(messageOf("n1", "n2"));
  await eventually("the link is let go", () => n2.transport.stats().links === 0);
  assert.deepEqual([n2.messages, n1.unreachable], [[], []]);
  assert.deepEqual(n1.transport.connections(), []);
});

test("a snapshot is not sent as a message", async (context) => {
  const n1 = await testNode(context, "n1");
  assert.throws(() => n1.transport.send(messageOf("n1", "n2", { type: "MsgSnap" })), TypeError);
});

test("an absent peer is retried ever more slowly and reported once per failure", async (context) => {
  const timing = manualTiming();
  const [n1, gone] = await Promise.all([testNode(context, "n1", { timing }), testNode(context, "n2")]);
  await gone.transport.close();
  know(n1, addressOf(gone));
  const delays: number[] = [];
  for (let failures = 1; failures <= 8; failures++) {
    await eventually(`failure ${failures}`, () => n1.unreachable.length === failures);
    const delay = timing.requestedDelays.at(-1) ?? 0;
    delays.push(delay);
    timing.advance(delay);
  }
  assert.deepEqual(delays, [75, 150, 300, 600, 1_200, 2_250, 2_250, 2_250]);
  const { state, error } = stateOf(n1, "n2") ?? {};
  assert.deepEqual([state, error?.code], ["down", "ECONNREFUSED"]);
  assert.equal(n1.log.lines.filter(({ level }) => level === "warn").length, 1);
});

test("messages to a peer that is down are dropped and not kept for later", async (context) => {
  const timing = manualTiming();
  const [n1, n2] = await Promise.all([testNode(context, "n1", { timing }), testNode(context, "n2")]);
  const relay = await relayTo(context, "127.0.0.1:1");
  know(n1, { id: "n2", address: relay.address });
  await eventually("it fails", () => n1.unreachable.length === 1);
  n1.transport.send(messageOf("n1", "n2", { index: 1 }));
  assert.equal(n1.unreachable.length, 2);
  relay.leadTo(n2.transport.address);
  timing.advance(3_000);
  await eventually("it is connected", () => isUp(n1, "n2"));
  n1.transport.send(messageOf("n1", "n2", { index: 2 }));
  await eventually("the second arrives", () => n2.messages.length > 0);
  assert.deepEqual(
    n2.messages.map(({ index }) => index),
    [2],
  );
});

test("a restarted peer is connected to again", async (context) => {
  const [n1, first] = await Promise.all([testNode(context, "n1"), testNode(context, "n2")]);
  know(n1, addressOf(first));
  await eventually("it is connected", () => isUp(n1, "n2"));
  const { address } = first.transport;
  await first.transport.close();
  await eventually("the break is noticed", () => !isUp(n1, "n2"));
  assert.ok(n1.unreachable.includes("n2"));
  const second = await testNode(context, "n2", { listen: address });
  await eventually("it is connected again", () => isUp(n1, "n2"));
  n1.transport.send(messageOf("n1", "n2", { index: 3 }));
  await eventually("a message arrives", () => second.messages.length === 1);
  assert.equal(stateOf(n1, "n2")?.error, undefined);
});

test("a peer that has a new address is connected to there", async (context) => {
  const [n1, before, after] = await Promise.all(["n1", "n2", "n2"].map((id) => testNode(context, id)));
  assert.ok(n1 && before && after);
  know(n1, addressOf(before));
  await eventually("it is connected", () => isUp(n1, "n2"));
  know(n1, addressOf(after));
  await eventually("it is connected anew", () => isUp(n1, "n2"));
  n1.transport.send(messageOf("n1", "n2"));
  await eventually("the message arrives", () => after.messages.length === 1);
  await eventually("the old link is let go", () => before.transport.stats().links === 0);
  assert.equal(before.messages.length, 0);
});

test("the queue to a slow peer is bounded: the rest is dropped and reported", async (context) => {
  const [n1, n2] = await Promise.all([testNode(context, "n1"), testNode(context, "n2")]);
  const relay = await relayTo(context, n2.transport.address);
  know(n1, { id: "n2", address: relay.address });
  await eventually("it is connected", () => isUp(n1, "n2"));
  relay.stall(true);
  const entries = [{ index: 1, term: 1, kind: "normal" as const, data: new Uint8Array(256 * 1024) }];
  const before = process.memoryUsage().arrayBuffers;
  for (let index = 0; index < 400; index++) {
    n1.transport.send(messageOf("n1", "n2", { type: "MsgApp", index, entries }));
    if (index % 20 === 0) await new Promise(setImmediate);
  }
  assert.ok(n1.unreachable.length >= 1);
  // Dropped messages are not copied first, so this is true whenever garbage is collected.
  const grown = process.memoryUsage().arrayBuffers - before;
  assert.ok(grown < 24 * 1024 * 1024, `${grown} bytes`);
  relay.stall(false);
  await eventually("the peer gets what was queued", () => n2.messages.length > 0);
  await eventually("and what comes after", () => {
    n1.transport.send(messageOf("n1", "n2", { index: 1_000 }));
    return n2.messages.some(({ index }) => index === 1_000);
  });
  const indexes = n2.messages.map(({ index }) => index);
  assert.ok(indexes.length < 300, `${indexes.length} messages of 256 KiB`);
  assert.deepEqual(
    indexes,
    [...indexes].sort((a, b) => a - b),
  );
});

test("a refused peer has the reason in its state, and once in the log", async (context) => {
  const timing = manualTiming();
  const n2 = await testNode(context, "n2", { refusalCodeFor: () => "not_a_member" });
  const n1 = await testNode(context, "n1", { timing });
  know(n1, addressOf(n2));
  for (let failures = 1; failures <= 3; failures++) {
    await eventually(`refusal ${failures}`, () => n1.unreachable.length === failures);
    timing.advance(3_000);
  }
  assert.equal(stateOf(n1, "n2")?.error?.code, "not_a_member");
  const countWarnings = (node: TestNode) => node.log.lines.filter(({ level }) => level === "warn").length;
  assert.deepEqual([countWarnings(n1), countWarnings(n2)], [1, 1]);
});

test("a node with another secret is refused by both sides", async (context) => {
  const n1 = await testNode(context, "n1");
  const n2 = await testNode(context, "n2", {}, { secret: OTHER_SECRET });
  know(n1, addressOf(n2));
  know(n2, addressOf(n1));
  await eventually("both fail", () => n1.unreachable.length > 0 && n2.unreachable.length > 0);
  assert.match(stateOf(n1, "n2")?.error?.message ?? "", /not trusted/);
  assert.deepEqual([n1.transport.stats().accepted, n2.transport.stats().accepted], [0, 0]);
});

test("an address of another node is refused before a message reaches it", async (context) => {
  const [n1, n3] = await Promise.all([testNode(context, "n1"), testNode(context, "n3")]);
  know(n1, { id: "n2", address: n3.transport.address });
  n1.transport.send(messageOf("n1", "n2"));
  await eventually("it is refused", () => stateOf(n1, "n2")?.error?.code === "wrong_node");
  assert.equal(n3.messages.length, 0);
});

test("removed members are disconnected, and refused when they return", async (context) => {
  const members = new Set(["n2", "n3"]);
  const n1 = await testNode(context, "n1", {
    refusalCodeFor: ({ nodeId }) => (members.has(nodeId) ? undefined : "not_a_member"),
  });
  const [n2, n3] = await Promise.all([testNode(context, "n2"), testNode(context, "n3")]);
  for (const node of [n2, n3]) know(node, addressOf(n1));
  await eventually("both are connected", () => isUp(n2, "n1") && isUp(n3, "n1"));
  members.delete("n3");
  know(n1, addressOf(n2));
  await eventually("one is refused", () => stateOf(n3, "n1")?.error?.code === "not_a_member");
  assert.ok(isUp(n2, "n1"));
});

test("a removed node is informed before it is disconnected", async (context) => {
  const [n1, n2] = await Promise.all([testNode(context, "n1"), testNode(context, "n2")]);
  know(n1, addressOf(n2));
  await eventually("it is connected", () => isUp(n1, "n2"));
  n1.transport.send(messageOf("n1", "n2", { index: 11 }));
  n1.transport.sendRemoved("n2", 12);
  know(n1);
  await eventually("it is informed", () => n2.removals.length === 1);
  assert.deepEqual(n2.removals, [[12, "n1"]]);
  assert.equal(n2.messages[0]?.index, 11);
  n1.transport.sendRemoved("n9", 1);
});

const FOREIGN = [
  ["in the name of another node", encodeFrame({ kind: KIND.raft }, encodeMessage(messageOf("n3", "n1")))],
  ["to another node", encodeFrame({ kind: KIND.raft }, encodeMessage(messageOf("n2", "n3")))],
  ["that is truncated", encodeFrame({ kind: KIND.raft }, encodeMessage(messageOf("n2", "n1")).subarray(1))],
  ["of an unexpected kind", encodeFrame({ kind: KIND.propose })],
  ["that reports a removal without an index", encodeFrame({ kind: KIND.removed }, Buffer.from("{}"))],
] as const;

for (const [what, frame] of FOREIGN) {
  test(`a peer that sends a message ${what} is cut off`, async (context) => {
    const n1 = await testNode(context, "n1");
    const identity = await identityOf("n2");
    const peer = await rawPeer(n1.transport.address, identity);
    peer.send(helloFrame(selfOf(identity), "raft"));
    assert.equal((await peer.nextFrame()).kind, KIND.helloOk);
    peer.send(frame);
    await peer.closed;
    assert.deepEqual([n1.messages, n1.removals, n1.transport.stats().malformed], [[], [], 1]);
  });
}

test("a closed transport releases its port and its connections", async (context) => {
  const [n1, n2] = await Promise.all([testNode(context, "n1"), testNode(context, "n2")]);
  know(n1, addressOf(n2));
  know(n2, addressOf(n1));
  await eventually("both are connected", () => isUp(n1, "n2") && isUp(n2, "n1"));
  await n1.transport.close();
  await eventually("the other notices", () => !isUp(n2, "n1") && n2.transport.stats().links === 0);
  n1.transport.send(messageOf("n1", "n2"));
  await testNode(context, "n1", { listen: n1.transport.address });
});
