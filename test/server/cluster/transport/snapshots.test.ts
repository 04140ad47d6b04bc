/** Snapshots between transports: complete, cut, damaged, refused and superseded. */

import assert from "node:assert/strict";
import { readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { TransportOptions } from "../../../../src/server/cluster/transport/index.ts";
import {
  decodeAck,
  decodeSnapshotFrame,
  encodeAnnounce,
  encodeChunk,
  MAX_SNAPSHOT_BYTES,
} from "../../../../src/server/cluster/transport/snapshot-frames.ts";
import { encodeFrame, FRAME_OVERHEAD_BYTES, KIND, WireError } from "../../../../src/server/cluster/wire/index.ts";
import { eventually } from "../../../e2e/support/wait.ts";
import { identityOf } from "../identity/made.ts";
import { helloFrame, type RawPeer, rawPeer } from "../wire/raw-peer.ts";
import { selfOf } from "../wire/selves.ts";
import { addressOf, know, snapshotMessage, type TestNode, testNode, testSnapshot } from "./harness.ts";
import { relayTo } from "./relay.ts";

const MiB = 1024 * 1024;
const never = new AbortController().signal;

async function pair(
  context: TestContext,
  over: Partial<TransportOptions> = {},
): Promise<readonly [TestNode, TestNode]> {
  const [n1, n2] = await Promise.all([testNode(context, "n1"), testNode(context, "n2", over)]);
  know(n1, addressOf(n2));
  return [n1, n2];
}

/** A peer that has sent hello for a snapshot and then acts as the test says. */
async function rawSender(node: TestNode, id = "n1"): Promise<RawPeer> {
  const identity = await identityOf(id);
  const peer = await rawPeer(node.transport.address, identity);
  peer.send(helloFrame(selfOf(identity), "snapshot"));
  assert.equal((await peer.nextFrame()).kind, KIND.helloOk);
  return peer;
}

async function nextAck(peer: RawPeer) {
  const { kind, payload } = await peer.nextFrame();
  assert.equal(kind, KIND.snapAck);
  return decodeAck(payload);
}

test("a snapshot arrives complete, under its final name, with its message and record", async (context) => {
  const [n1, n2] = await pair(context);
  const { path, bytes, record } = await testSnapshot(context, 3 * MiB + 17);
  const message = snapshotMessage("n1", "n2", record);
  await n1.transport.sendSnapshot("n2", message, record, path, never);
  assert.deepEqual(n2.snapshots, [{ message, record }]);
  assert.deepEqual(await readdir(n2.dir), ["snap-3-100.bin"]);
  assert.ok((await readFile(join(n2.dir, "snap-3-100.bin"))).equals(bytes));
  assert.deepEqual(n2.messages, []);
});

test("a transfer of 20 MiB cut in the middle resumes where it stopped", async (context) => {
  const [n1, n2] = await pair(context);
  const relay = await relayTo(context, n2.transport.address);
  know(n1, { id: "n2", address: relay.address });
  const { path, bytes, record } = await testSnapshot(context, 20 * MiB);
  const message = snapshotMessage("n1", "n2", record);
  relay.cutAfter(11 * MiB);
  await assert.rejects(n1.transport.sendSnapshot("n2", message, record, path, never), /closed|reset|ECONNRESET/i);
  assert.deepEqual(n2.snapshots, []);
  assert.deepEqual(await readdir(n2.dir), ["snap-3-100.recv"]);
  relay.cutAfter(undefined);
  const before = relay.forwarded();
  await n1.transport.sendSnapshot("n2", message, record, path, never);
  assert.equal(n2.snapshots.length, 1);
  assert.ok((await readFile(join(n2.dir, "snap-3-100.bin"))).equals(bytes));
  const again = relay.forwarded() - before;
  assert.ok(again < 13 * MiB, `${again} bytes were sent again of ${record.size}`);
});

test("messages pass while a snapshot is sent", async (context) => {
  const [n1, n2] = await pair(context);
  const { path, record } = await testSnapshot(context, 8 * MiB);
  await eventually("messages have their connection", () => n1.transport.connections()[0]?.state === "up");
  let isDone = false;
  const sending = n1.transport.sendSnapshot("n2", snapshotMessage("n1", "n2", record), record, path, never).then(() => {
    isDone = true;
  });
  const heartbeat = { ...snapshotMessage("n1", "n2", record), type: "MsgHeartbeat" as const, snapshot: undefined };
  await eventually("heartbeats arrive meanwhile", () => {
    n1.transport.send(heartbeat);
    return n2.messages.length > 0;
  });
  assert.equal(isDone, false);
  await sending;
});

test("a snapshot without room at the receiver is refused before any byte is sent", async (context) => {
  const offsets: number[] = [];
  const [n1, n2] = await pair(context, {
    mayReceive: (size) => {
      offsets.push(size);
      return false;
    },
  });
  const { path, record } = await testSnapshot(context, 1_000);
  const sending = n1.transport.sendSnapshot("n2", snapshotMessage("n1", "n2", record), record, path, never);
  await assert.rejects(sending, { name: "SnapshotRefused", code: "no_room" });
  assert.deepEqual(offsets, [1_000]);
  assert.deepEqual(await readdir(n2.dir), []);
});

test("a file that does not match its record never gets its name", async (context) => {
  const [n1, n2] = await pair(context);
  const { path, record } = await testSnapshot(context, MiB);
  const message = snapshotMessage("n1", "n2", record);
  await writeFile(path, Buffer.alloc(MiB));
  await assert.rejects(n1.transport.sendSnapshot("n2", message, record, path, never), { code: "wrong_digest" });
  await truncate(path, 1_000);
  await assert.rejects(n1.transport.sendSnapshot("n2", message, record, path, never), /shorter than its record/);
  assert.deepEqual(n2.snapshots, []);
  assert.ok(!(await readdir(n2.dir)).includes("snap-3-100.bin"));
});

test("sending ends with the signal, for an unknown peer, and for an absent one", async (context) => {
  const [n1, n2] = await pair(context);
  const { path, record } = await testSnapshot(context, 1_000);
  const message = snapshotMessage("n1", "n2", record);
  const stop = AbortSignal.abort(new Error("no longer leader"));
  await assert.rejects(n1.transport.sendSnapshot("n2", message, record, path, stop), /no longer leader/);
  await assert.rejects(n1.transport.sendSnapshot("n9", message, record, path, never), /not a peer/);
  await assert.rejects(n1.transport.sendSnapshot("n2", message, { ...record, size: 0 }, path, never), RangeError);
  await n2.transport.close();
  await assert.rejects(n1.transport.sendSnapshot("n2", message, record, path, never), {
    name: "DialError",
    kind: "unreachable",
  });
});

test("an abort in the middle ends the transfer at once", async (context) => {
  const [n1, n2] = await pair(context);
  const relay = await relayTo(context, n2.transport.address);
  know(n1, { id: "n2", address: relay.address });
  const { path, record } = await testSnapshot(context, 20 * MiB);
  const stop = new AbortController();
  const sending = n1.transport.sendSnapshot("n2", snapshotMessage("n1", "n2", record), record, path, stop.signal);
  await eventually("it is under way", () => relay.forwarded() > MiB);
  stop.abort(new Error("no longer leader"));
  await assert.rejects(sending, /given up|no longer leader/);
  assert.deepEqual(n2.snapshots, []);
});

test("a damaged chunk is refused, and earlier ones are kept", async (context) => {
  const n2 = await testNode(context, "n2");
  const { bytes, record } = await testSnapshot(context, 1_000);
  const announce = encodeAnnounce(snapshotMessage("n1", "n2", record), record);
  const damaged = await rawSender(n2);
  damaged.send(announce);
  assert.deepEqual(await nextAck(damaged), { kind: "continue", offset: 0 });
  damaged.send(encodeChunk(0, bytes.subarray(0, 400)));
  assert.deepEqual(await nextAck(damaged), { kind: "continue", offset: 400 });
  damaged.send(withWrongSum(encodeChunk(400, bytes.subarray(400))));
  assert.deepEqual(await nextAck(damaged), { kind: "refused", code: "corrupt_chunk" });
  await damaged.closed;

  const whole = await rawSender(n2);
  whole.send(announce);
  assert.deepEqual(await nextAck(whole), { kind: "continue", offset: 400 });
  whole.send(encodeChunk(400, bytes.subarray(400)));
  assert.deepEqual(await nextAck(whole), { kind: "continue", offset: 1_000 });
  assert.deepEqual(await nextAck(whole), { kind: "done" });
  assert.ok((await readFile(join(n2.dir, "snap-3-100.bin"))).equals(bytes));
  whole.socket.destroy();
});

/** Returns a chunk with a wrong checksum in a valid frame. */
function withWrongSum(frame: Buffer): Buffer {
  const payload = Buffer.from(frame.subarray(FRAME_OVERHEAD_BYTES));
  payload.writeUInt32BE((payload.readUInt32BE(9) ^ 1) >>> 0, 9);
  return encodeFrame({ kind: KIND.snapChunk }, payload);
}

test("a chunk out of place or beyond the end is refused", async (context) => {
  const n2 = await testNode(context, "n2");
  const { bytes, record } = await testSnapshot(context, 1_000);
  for (const chunk of [encodeChunk(1, bytes.subarray(1)), encodeChunk(0, Buffer.alloc(1_001))]) {
    const peer = await rawSender(n2);
    peer.send(encodeAnnounce(snapshotMessage("n1", "n2", record), record));
    assert.equal((await nextAck(peer)).kind, "continue");
    peer.send(chunk);
    assert.deepEqual(await nextAck(peer), { kind: "refused", code: "wrong_offset" });
    await peer.closed;
  }
});

test("an announcement that is empty, too large, or in another's name is refused", async (context) => {
  const n2 = await testNode(context, "n2");
  const { record } = await testSnapshot(context, 1_000);
  for (const size of [0, MAX_SNAPSHOT_BYTES + 1]) {
    const peer = await rawSender(n2);
    peer.send(encodeAnnounce(snapshotMessage("n1", "n2", record), { ...record, size }));
    assert.deepEqual(await nextAck(peer), { kind: "refused", code: "size" });
  }
  for (const message of [snapshotMessage("n3", "n2", record), snapshotMessage("n1", "n3", record)]) {
    const peer = await rawSender(n2);
    peer.send(encodeAnnounce(message, record));
    await peer.closed;
    assert.equal(peer.frames.length, 1);
  }
});

test("a newer snapshot replaces the one in transfer, and an older one does not", async (context) => {
  const n2 = await testNode(context, "n2");
  const [older, newer] = [await testSnapshot(context, 1_000, 100), await testSnapshot(context, 900, 200)];
  const first = await rawSender(n2, "n1");
  first.send(encodeAnnounce(snapshotMessage("n1", "n2", older.record), older.record));
  assert.equal((await nextAck(first)).kind, "continue");
  const second = await rawSender(n2, "n3");
  second.send(encodeAnnounce(snapshotMessage("n3", "n2", newer.record), newer.record));
  assert.deepEqual(await nextAck(first), { kind: "refused", code: "superseded" });
  assert.deepEqual(await nextAck(second), { kind: "continue", offset: 0 });
  assert.deepEqual(await readdir(n2.dir), ["snap-3-200.recv"]);
  const third = await rawSender(n2, "n4");
  third.send(encodeAnnounce(snapshotMessage("n4", "n2", older.record), older.record));
  assert.deepEqual(await nextAck(third), { kind: "refused", code: "older" });
  second.send(encodeChunk(0, newer.bytes));
  assert.equal((await nextAck(second)).kind, "continue");
  assert.deepEqual(await nextAck(second), { kind: "done" });
  assert.deepEqual(await readdir(n2.dir), ["snap-3-200.bin"]);
  second.socket.destroy();
});

test("a later leader's snapshot counts even with a lower index, and resumes the same file", async (context) => {
  const n2 = await testNode(context, "n2");
  const { bytes, record } = await testSnapshot(context, 1_000);
  const first = await rawSender(n2, "n1");
  first.send(encodeAnnounce(snapshotMessage("n1", "n2", record, 5), record));
  assert.equal((await nextAck(first)).kind, "continue");
  first.send(encodeChunk(0, bytes.subarray(0, 300)));
  assert.deepEqual(await nextAck(first), { kind: "continue", offset: 300 });
  const second = await rawSender(n2, "n3");
  second.send(encodeAnnounce(snapshotMessage("n3", "n2", record, 6), record));
  assert.deepEqual(await nextAck(second), { kind: "continue", offset: 300 });
  second.socket.destroy();
});

test("a foreign frame and excess data disconnect the sender", async (context) => {
  const n2 = await testNode(context, "n2");
  const { bytes, record } = await testSnapshot(context, 100_000);
  const twice = await rawSender(n2);
  const announce = encodeAnnounce(snapshotMessage("n1", "n2", record), record);
  twice.send(announce);
  await nextAck(twice);
  twice.send(announce);
  await twice.closed;
  const greedy = await rawSender(n2);
  const chunks = Array.from({ length: 20 }, (_, n) => encodeChunk(n * 100, bytes.subarray(n * 100, n * 100 + 100)));
  greedy.send(Buffer.concat([announce, ...chunks]));
  await greedy.closed;
  assert.equal(n2.transport.stats().malformed, 2);
});

test("a disk error ends the transfer, not the node", async (context) => {
  const [n1, n2] = await pair(context, { snapshotPath: () => "/does/not/exist/snap.bin" });
  const { path, record } = await testSnapshot(context, 1_000);
  const sending = n1.transport.sendSnapshot("n2", snapshotMessage("n1", "n2", record), record, path, never);
  await assert.rejects(sending, { code: "failed" });
  assert.equal(n2.log.lines.at(-1)?.level, "warn");
});

test("a closing transport removes half-received files", async (context) => {
  const n2 = await testNode(context, "n2");
  const { bytes, record } = await testSnapshot(context, 1_000);
  const peer = await rawSender(n2);
  peer.send(encodeAnnounce(snapshotMessage("n1", "n2", record), record));
  await nextAck(peer);
  peer.send(encodeChunk(0, bytes.subarray(0, 10)));
  await nextAck(peer);
  await n2.transport.close();
  assert.deepEqual(await readdir(n2.dir), []);
});

test("incomplete frames of a transfer are the one error", async (context) => {
  const { record } = await testSnapshot(context, 10);
  const announce = encodeAnnounce(snapshotMessage("n1", "n2", record), record).subarray(FRAME_OVERHEAD_BYTES);
  for (let length = 0; length < announce.length; length++) {
    assert.throws(() => decodeSnapshotFrame(announce.subarray(0, length)), WireError);
  }
  for (const over of [
    { sha256: "x" },
    { size: -1 },
    { rows: 0.5 },
    { now: "1" },
    { index: 99 },
    { configuration: {} },
  ]) {
    const bytes = encodeAnnounce(snapshotMessage("n1", "n2", record), { ...record, ...over } as typeof record);
    assert.throws(() => decodeSnapshotFrame(bytes.subarray(FRAME_OVERHEAD_BYTES)), WireError, JSON.stringify(over));
  }
  for (const text of ["{}", '{"kind":"continue","offset":-1}', '{"kind":"refused","code":"\\n"}', "[]", "x"]) {
    assert.throws(() => decodeAck(Buffer.from(text)), WireError, text);
  }
});
