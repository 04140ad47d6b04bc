/** Bodies of many frames: flow control, ends on either side, and who may not go on. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { encodeFrame, KIND } from "../../../../src/server/cluster/wire/index.ts";
import { eventually } from "../../../e2e/support/wait.ts";
import { identityOf } from "../identity/made.ts";
import { relayTo } from "../transport/relay.ts";
import { helloFrame, rawPeer } from "../wire/raw-peer.ts";
import { selfOf } from "../wire/selves.ts";
import { type Script, testClient, testServer } from "./harness.ts";

const LIMITS = { timeoutMs: 20_000 };
const MiB = 1024 * 1024;

async function* pieces(count: number, bytes: number, onGive: (n: number) => void = () => {}): AsyncGenerator<Buffer> {
  for (let n = 0; n < count; n++) {
    onGive(n);
    yield Buffer.alloc(bytes, n);
  }
}

const digest: Script = async ({ header, body }) => {
  assert.ok(!(body instanceof Uint8Array));
  const hash = createHash("sha256");
  for await (const chunk of body) hash.update(chunk);
  return { kind: "result", header: [header, hash.digest("hex")] };
};

test("a stream arrives whole, in order, whatever the size of its pieces", async (context) => {
  const { address } = await testServer(context, digest);
  const client = await testClient(context);
  for (const [count, bytes] of [
    [0, 1],
    [3, 0],
    [5_000, 11],
    [24, MiB],
    [1, 5 * MiB + 3],
  ] as const) {
    const hash = createHash("sha256");
    for await (const piece of pieces(count, bytes)) hash.update(piece);
    const reply = await client.request(
      address,
      { kind: "restore_begin", header: count, body: pieces(count, bytes) },
      LIMITS,
    );
    assert.deepEqual(reply.kind === "result" && reply.header, [count, hash.digest("hex")]);
  }
});

test("a reader that waits holds the sender back, and other requests pass meanwhile", async (context) => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { address } = await testServer(context, async ({ kind, body, header }) => {
    if (kind === "status" || body instanceof Uint8Array) return { kind: "result", header };
    await held;
    let bytes = 0;
    for await (const chunk of body) bytes += chunk.length;
    return { kind: "result", header: bytes };
  });
  const client = await testClient(context);
  let given = 0;
  const body = pieces(64, 256 * 1024, () => {
    given += 1;
  });
  const restoring = client.request(address, { kind: "restore_begin", header: {}, body }, LIMITS);
  await eventually("the window is full", () => given === 9);
  for (let n = 0; n < 20; n++) {
    const reply = await client.request(address, { kind: "status", header: n }, LIMITS);
    assert.equal(reply.kind === "result" && reply.header, n);
  }
  assert.equal(given, 9);
  release();
  const reply = await restoring;
  assert.equal(reply.kind === "result" && reply.header, 16 * MiB);
});

test("an answer before the end stops the sender", async (context) => {
  const { address } = await testServer(context, () => ({ kind: "error", code: "invalid", message: "not an archive" }));
  const client = await testClient(context);
  let isReturned = false;
  async function* endless(): AsyncGenerator<Buffer> {
    try {
      for (;;) yield Buffer.alloc(64 * 1024);
    } finally {
      isReturned = true;
    }
  }
  const reply = await client.request(address, { kind: "restore_begin", header: {}, body: endless() }, LIMITS);
  assert.equal(reply.kind === "error" && reply.code, "invalid");
  await eventually("the source is let go", () => isReturned);
  assert.equal((await client.request(address, { kind: "status", header: 1 }, LIMITS)).kind, "error");
});

test("a source that fails gives the request up, and the reader learns of it", async (context) => {
  let seen: unknown;
  const { address } = await testServer(context, async ({ body }) => {
    try {
      if (!(body instanceof Uint8Array)) for await (const _ of body);
    } catch (error) {
      seen = error;
    }
    return { kind: "result", header: null };
  });
  const client = await testClient(context);
  async function* failing(): AsyncGenerator<Buffer> {
    yield Buffer.alloc(10);
    throw new Error("the file cannot be read");
  }
  const asked = client.request(address, { kind: "restore_begin", header: {}, body: failing() }, LIMITS);
  await assert.rejects(asked, /the file cannot be read/);
  await eventually("the reader learns of it", () => seen !== undefined);
  assert.match(String(seen), /gave up/);
});

test("a link that breaks ends the reader and makes the request unknown", async (context) => {
  let seen: unknown;
  let read = 0;
  const { address } = await testServer(context, async ({ body }) => {
    try {
      if (!(body instanceof Uint8Array)) for await (const chunk of body) read += chunk.length;
    } catch (error) {
      seen = error;
    }
    return { kind: "result", header: null };
  });
  const relay = await relayTo(context, address);
  const client = await testClient(context);
  const asked = client.request(
    relay.address,
    { kind: "restore_begin", header: {}, body: pieces(400, 64 * 1024) },
    LIMITS,
  );
  await eventually("it is under way", () => read > MiB);
  relay.cut();
  assert.equal((await asked).kind, "unknown");
  await eventually("the reader learns of it", () => seen !== undefined);
});

test("a sender that does not wait for the reader is cut off", async (context) => {
  const { address, server } = await testServer(context, () => new Promise(() => undefined));
  const identity = await identityOf("n2");
  const peer = await rawPeer(address, identity);
  peer.send(helloFrame(selfOf(identity), "forward"));
  await peer.nextFrame();
  peer.send(encodeFrame({ kind: KIND.restoreBegin, id: 1 }, Buffer.from("0000000130", "hex")));
  for (let n = 0; n < 9; n++) peer.send(encodeFrame({ kind: KIND.restoreChunk, id: 1 }, Buffer.alloc(256 * 1024)));
  await peer.closed;
  assert.equal(server.stats().malformed, 1);
});

test("chunks of a request that is over, or never was, are passed over", async (context) => {
  const { address } = await testServer(context, () => ({ kind: "result", header: "done" }));
  const identity = await identityOf("n2");
  const peer = await rawPeer(address, identity);
  peer.send(helloFrame(selfOf(identity), "forward"));
  await peer.nextFrame();
  peer.send(encodeFrame({ kind: KIND.restoreChunk, id: 7 }, Buffer.alloc(10)));
  peer.send(encodeFrame({ kind: KIND.restoreEnd, id: 7, isLast: true }));
  peer.send(encodeFrame({ kind: KIND.status, id: 8, isLast: true }, Buffer.from("0000000130", "hex")));
  const { kind, id } = await peer.nextFrame();
  assert.deepEqual([kind, id], [KIND.result, 8]);
  peer.socket.destroy();
});
