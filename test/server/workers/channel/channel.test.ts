import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../../../src/base/index.ts";
import { BrokenFrame, ChannelClosed, MAX_FRAME_BYTES } from "../../../../src/server/workers/index.ts";
import { childArgs } from "../../../support/child-program.ts";
import { openPair } from "../support/pair.ts";
import { startPeer } from "../support/process.ts";

const LIMIT = () => AbortSignal.timeout(120_000);

test("a worker process handles order, requests, refusals, ended waits and its own death", async (t) => {
  await using peer = startPeer(childArgs("./peer.ts", import.meta.url));
  const { channel } = peer;

  await t.test("messages arrive complete and in order, before a later request", async () => {
    const sent = Array.from({ length: 5_000 }, (_, at) => ({ at, text: "é".repeat(at % 300) }));
    for (const body of sent) channel.send("number", body);
    assert.deepEqual(await channel.ask("seen", undefined, LIMIT()), sent);
  });

  await t.test("many concurrent requests each get their own answer", async () => {
    const answers = await Promise.all(Array.from({ length: 500 }, (_, at) => channel.ask("echo", at, LIMIT())));
    assert.deepEqual(
      answers,
      Array.from({ length: 500 }, (_, at) => at),
    );
  });

  await t.test("a refusal keeps its type across the channel", async () => {
    await assert.rejects(channel.ask("refuse", {}, LIMIT()), (error) => {
      assert.ok(error instanceof GatewayError);
      const { code, status, message, retryAfterSeconds, by } = error;
      assert.deepEqual(
        { code, status, message, retryAfterSeconds, by },
        {
          code: "budget_exhausted",
          status: 429,
          message: "The budget is spent.",
          retryAfterSeconds: 7,
          by: { kind: "budget", name: "b" },
        },
      );
      return true;
    });
    await assert.rejects(channel.ask("fail", {}, LIMIT()), /^Error: broken$/);
  });

  await t.test("a canceled wait ends on both sides", async () => {
    const left = new Promise((resolve) => channel.on("left", resolve));
    const controller = new AbortController();
    const waiting = channel.ask("wait", null, controller.signal);
    controller.abort(new Error("enough"));
    await assert.rejects(waiting, /enough/);
    assert.equal(await left, "nobody waits");
  });

  await t.test("messages that a busy process does not take are counted", async () => {
    channel.send("block", 300);
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (let n = 0; n < 64; n += 1) channel.send("number", "x".repeat(64 * 1024));
    assert.ok(channel.waitingBytes() > 1024 * 1024, `${channel.waitingBytes()}`);
    await channel.ask("echo", 1, LIMIT());
    assert.equal(channel.waitingBytes(), 0);
  });

  await t.test("the death of a process ends its requests, and messages to it are dropped", async () => {
    const waiting = channel.ask("wait", null, LIMIT());
    peer.child.kill("SIGKILL");
    await assert.rejects(waiting, ChannelClosed);
    await channel.closed;
    channel.send("number", 1);
    await assert.rejects(channel.ask("echo", 1, LIMIT()), ChannelClosed);
  });
});

test("a process whose channel is closed by the other side ends", async () => {
  await using peer = startPeer(childArgs("./peer.ts", import.meta.url));
  const exit = new Promise((resolve) => peer.child.once("exit", resolve));
  assert.equal(await peer.channel.ask("echo", 1, LIMIT()), 1);
  await peer.channel.close();
  assert.equal(await exit, 0);
});

test("messages before the first listener wait for it", async () => {
  await using pair = await openPair();
  pair.worker.send("late", 1);
  pair.worker.send("late", 2);
  const answer = pair.worker.ask("question", 3, LIMIT());
  pair.node.answer("arrived", () => true);
  await pair.worker.ask("arrived", null, LIMIT());
  const seen: unknown[] = [];
  pair.node.on("late", (body) => seen.push(body));
  pair.node.answer("question", (body) => ({ body }));
  assert.deepEqual(await answer, { body: 3 });
  assert.deepEqual(seen, [1, 2]);
});

test("an invalid frame ends the channel", async (t) => {
  for (const [name, bytes] of [
    ["too long", Buffer.from([0xff, 0xff, 0xff, 0xff])],
    ["empty", Buffer.from([0, 0, 0, 0])],
    ["no JSON", Buffer.from([0, 0, 0, 2, 0x5b, 0x5b])],
    ["no array", Buffer.from([0, 0, 0, 2, 0x7b, 0x7d])],
    ["no entries", Buffer.from([0, 0, 0, 3, 0x5b, 0x31, 0x5d])],
  ] as const) {
    await t.test(name, async () => {
      await using pair = await openPair();
      pair.sockets.worker.write(bytes);
      await pair.node.closed;
      assert.equal(pair.broken.length, 1);
      assert.ok(pair.broken[0] instanceof BrokenFrame);
    });
  }
});

test("a message longer than a frame is sent in parts, in order, and arrives complete", async () => {
  await using pair = await openPair();
  const seen: string[] = [];
  pair.node.on("m", (body) => seen.push(String(body)));
  pair.node.answer("echo", (body) => body);
  const long = "x\u0000\ud83d\ude00".repeat(MAX_FRAME_BYTES / 4);
  for (const body of ["before", long, "after"]) pair.worker.send("m", body);
  const answer = await pair.worker.ask("echo", long, LIMIT());
  assert.ok(answer === long);
  assert.deepEqual(
    seen.map((text) => (text === long ? "long" : text)),
    ["before", "long", "after"],
  );
});

test("parts that do not form an entry end the channel", async () => {
  await using pair = await openPair();
  const text = '[["p",true,"[1"]]';
  pair.sockets.worker.write(Buffer.from([0, 0, 0, text.length, ...Buffer.from(text)]));
  await pair.node.closed;
  assert.equal(pair.broken.length, 1);
});

test("frames that arrive byte by byte are read", async () => {
  await using pair = await openPair();
  const seen: unknown[] = [];
  pair.node.on("m", (body) => seen.push(body));
  const json = Buffer.from('[["m","m","ä"],["q",1,"echo",2]]');
  const head = Buffer.alloc(4);
  head.writeUInt32BE(json.length);
  pair.node.answer("echo", (body) => body);
  const answered = new Promise((resolve) => pair.sockets.worker.once("data", resolve));
  for (const byte of Buffer.concat([head, json])) {
    pair.sockets.worker.write(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
  await answered;
  assert.deepEqual(seen, ["ä"]);
});
