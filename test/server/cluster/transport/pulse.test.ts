/**
 * Information that nodes exchange between messages: their clocks and durable log positions; and two processes with one
 * id.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createPulse, type PulsePorts } from "../../../../src/server/cluster/transport/pulse.ts";
import { encodeJson } from "../../../../src/server/cluster/wire/index.ts";
import { identityOf } from "../identity/made.ts";
import { until } from "../support/outcome.ts";
import { selfOf } from "../wire/selves.ts";
import { addressOf, know, messageOf, testNode } from "./harness.ts";

const HOUR = 3_600_000;

/** A node's ports, with a clock offset of `ahead`, and the received information. */
function ports(ahead: number, safe: number) {
  const reported: unknown[] = [];
  let now = 1_000;
  const of: PulsePorts = {
    now: () => 1_700_000_000_000 + now + ahead,
    monotonic: () => now,
    safeIndex: () => safe,
    onSafeIndex: (peer, index) => reported.push([peer.nodeId, peer.storageId, index]),
    onClock: (peer, reading) => reported.push([peer, reading]),
  };
  return {
    reported,
    of,
    pass(ms: number) {
      now += ms;
    },
  };
}

test("the offset of a clock is read from a request and its answer, minus half the round trip", () => {
  for (const ahead of [0, HOUR, -HOUR]) {
    const [asking, answering] = [ports(0, 7), ports(ahead, 9)];
    const [question, answer] = [
      createPulse({ nodeId: "b", storageId: undefined }, asking.of),
      createPulse({ nodeId: "a", storageId: "s" }, answering.of),
    ];
    const asked = question.question();
    for (const each of [asking, answering]) each.pass(10);
    const result = answer.answer(asked);
    for (const each of [asking, answering]) each.pass(10);
    question.onAnswer(result);
    assert.deepEqual(answering.reported, [["a", "s", 7]]);
    assert.deepEqual(asking.reported, [
      ["b", { atMs: 1_700_000_001_010 + ahead, monotonicMs: 1_010, roundTripMs: 20 }],
    ]);
    question.onAnswer(result);
    assert.equal(asking.reported.length, 1, "an answer that comes twice counts once");
  }
});

test("an earlier version or an unintelligible request is answered with nothing and gives no reading", () => {
  const { of, reported } = ports(0, 7);
  const pulse = createPulse({ nodeId: "b", storageId: "s" }, of);
  pulse.question();
  for (const bytes of [new Uint8Array(0), Buffer.from("{"), Buffer.from("[1]"), Buffer.alloc(2_000, 32)]) {
    assert.equal(pulse.answer(bytes).length, 0);
    pulse.onAnswer(bytes);
  }
  for (const message of [{}, { t: "x", at: -1, safe: 1.5 }, { t: 1, at: 2, safe: "3" }]) {
    pulse.answer(encodeJson(message));
    pulse.onAnswer(encodeJson(message));
  }
  assert.deepEqual(reported, []);
});

test("nodes read each other's clocks as soon as they connect, in both directions", async (context) => {
  const pulseOf = (ahead: number, kept: { clocks: unknown[]; safe: unknown[] }): PulsePorts => ({
    now: () => Date.now() + ahead,
    monotonic: () => performance.now(),
    safeIndex: () => 42,
    onSafeIndex: (peer, index) => kept.safe.push([peer.nodeId, peer.storageId, index]),
    onClock: (peer, { atMs }) => kept.clocks.push([peer, Math.round((atMs - Date.now() - ahead) / HOUR)]),
  });
  const [ofFirst, ofSecond] = [
    { clocks: [] as unknown[], safe: [] as unknown[] },
    { clocks: [] as unknown[], safe: [] as unknown[] },
  ];
  const first = await testNode(context, "n1", { pulse: pulseOf(0, ofFirst) });
  const second = await testNode(context, "n2", { pulse: pulseOf(HOUR, ofSecond) });
  know(first, addressOf(second));
  know(second, addressOf(first));
  await until("both know", () => ofFirst.clocks.length > 0 && ofSecond.clocks.length > 0);
  assert.deepEqual(ofFirst.clocks[0], ["n2", 1]);
  assert.deepEqual(ofSecond.clocks[0], ["n1", -1]);
  await until("both know how far the other is", () => ofFirst.safe.length > 0 && ofSecond.safe.length > 0);
  assert.deepEqual(ofFirst.safe[0], ["n2", "storage-of-n2", 42]);
});

test("of two processes with one node id the first that answers stays, and the other is refused", async (context) => {
  const third = await testNode(context, "n3");
  const self = async (incarnation: string) => selfOf(await identityOf("n1"), { incarnation });
  const first = await testNode(context, "n1", { self: await self("one") });
  know(first, addressOf(third));
  first.transport.send(messageOf("n1", "n3"));
  await until("the first is connected", () => first.transport.connections()[0]?.state === "up");
  const second = await testNode(context, "n1", { self: await self("two") });
  know(second, addressOf(third));
  await until("the second is refused", () => second.refusals.some(([code]) => code === "duplicate_node"));
  assert.deepEqual(
    first.transport.connections().map(({ state }) => state),
    ["up"],
  );
  assert.deepEqual(first.refusals, []);

  await first.transport.close();
  await until("the second takes its place", () => second.transport.connections()[0]?.state === "up");
});

test("a node that is not to decide between two processes ends neither", async (context) => {
  const third = await testNode(context, "n3", { decidesRivalry: () => false });
  const self = async (incarnation: string) => selfOf(await identityOf("n1"), { incarnation });
  const first = await testNode(context, "n1", { self: await self("one") });
  know(first, addressOf(third));
  await until("the first is connected", () => first.transport.connections()[0]?.state === "up");
  const second = await testNode(context, "n1", { self: await self("two") });
  know(second, addressOf(third));
  await until("the second has come twice", () => second.refusals.length >= 2);
  assert.deepEqual([...new Set(second.refusals.map(([code]) => code))], ["busy"]);
});
