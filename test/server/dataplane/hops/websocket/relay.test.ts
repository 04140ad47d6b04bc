/**
 * Content of an open tunnel: messages, pings, closes and lost connections, between real peers. Each test waits for
 * events and never for time.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, test } from "node:test";
import type { WebSocket } from "ws";
import { GatewayError } from "../../../../../src/base/index.ts";
import {
  assertIncludes,
  closeOf,
  closePeers,
  connectRaw,
  deferred,
  HANDSHAKE,
  isEmpty,
  newClient,
  openGateway,
  openPair,
  openUpstream,
} from "./peers.ts";

const MEBIBYTE = 1024 * 1024;

afterEach(closePeers);

test("messages pass in both directions with their type and their boundaries", async () => {
  const { client, far, gateway } = await openPair();
  const sent: readonly (readonly [Buffer, boolean])[] = [
    [Buffer.from('{"type":"session.update"}'), false],
    [Buffer.from([0, 255, 1, 254]), true],
    [Buffer.alloc(0), true],
    [Buffer.alloc(0), false],
    [Buffer.alloc(200_000, 7), true],
    [Buffer.from("größer \u{1F600}"), false],
  ];
  for (const [from, to] of [
    [client, far],
    [far, client],
  ] as const) {
    const received: [Buffer, boolean][] = [];
    const complete = new Promise<void>((resolve) => {
      to.on("message", (data: Buffer, isBinary: boolean) => {
        received.push([data, isBinary]);
        if (received.length === sent.length) resolve();
      });
    });
    for (const [data, isBinary] of sent) from.send(data, { binary: isBinary });
    await complete;
    assert.deepEqual(received, sent);
  }
  client.close(1000);
  const bytes = sent.reduce((sum, [data]) => sum + data.length, 0);
  const result = await gateway.result();
  assert.ok(!(result instanceof GatewayError) && result.kind === "closed");
  assert.ok(result.durationMs > 0);
  const { durationMs: _, ...rest } = result;
  assert.deepEqual(rest, {
    kind: "closed",
    code: 1000,
    by: "client",
    bytesFromClient: bytes,
    bytesFromUpstream: bytes,
  });
});

test("a message sent in fragments arrives as one message", async () => {
  const { client, far } = await openPair();
  const arrived = once(far, "message");
  client.send("one ", { fin: false });
  client.send("two ", { fin: false });
  client.send("three", { fin: true });
  const [data, isBinary] = await arrived;
  assert.equal(String(data), "one two three");
  assert.equal(isBinary, false);
});

test("bytes that the upstream sends together with its 101 reach the client", async () => {
  const upstream = await openUpstream((websocket) => {
    websocket.send("first");
    websocket.send("second");
  });
  const gateway = await openGateway(() => ({ upstreamUrl: upstream.url }));
  const client = newClient(gateway.url);
  const received: string[] = [];
  const both = new Promise<void>((resolve) => {
    client.on("message", (data) => received.push(String(data)) === 2 && resolve());
  });
  await both;
  assert.deepEqual(received, ["first", "second"]);
});

test("frames that a client sends before its 101 are not lost", async () => {
  const upstream = await openUpstream((websocket) => {
    websocket.on("message", (data, isBinary) => websocket.send(data, { binary: isBinary }));
  });
  const gateway = await openGateway(() => ({ upstreamUrl: upstream.url }));
  const socket = await connectRaw(gateway.url);
  const request = `GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n${HANDSHAKE.join("\r\n")}\r\n\r\n`;
  // A masked text frame "early", with a zero mask, in two pieces: in the same packet as the request, and after it.
  socket.write(Buffer.concat([Buffer.from(request), Buffer.from([0x81, 0x85, 0, 0, 0, 0, 0x65])]));
  socket.write("arly");
  let text = "";
  await new Promise<void>((resolve) => {
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (text.endsWith("\x81\x05early")) resolve();
    });
  });
  assert.match(text, /^HTTP\/1\.1 101 /);
});

test("pings reach the other side with their payload, and its pong comes back", async () => {
  const { client, far } = await openPair();
  for (const [from, to] of [
    [client, far],
    [far, client],
  ] as const) {
    const pinged = once(to, "ping");
    const ponged = once(from, "pong");
    from.ping(Buffer.from("are you there"));
    assert.equal(String((await pinged)[0]), "are you there");
    assert.equal(String((await ponged)[0]), "are you there");
  }
});

test("the gateway itself answers no ping", async () => {
  const { client, far } = await openPair({}, {}, { autoPong: false });
  let pongs = 0;
  client.on("pong", () => pongs++);
  const pinged = once(far, "ping");
  client.ping("x");
  await pinged;
  // A message after the ping has returned by the time a pong from the gateway would have.
  const echoed = once(client, "message");
  far.send("after");
  await echoed;
  assert.equal(pongs, 0);
  const ponged = once(client, "pong");
  far.pong("unasked");
  assert.equal(String((await ponged)[0]), "unasked");
});

for (const [code, reason] of [
  [1000, "done"],
  [1001, "going away"],
  [1008, "budget exhausted"],
  [1011, ""],
  [1013, "try again"],
  [3000, "registered"],
  [4999, "x".repeat(123)],
] as const) {
  for (const by of ["client", "upstream"] as const) {
    test(`a close with ${code} by the ${by} reaches the other side with its reason`, async () => {
      const { client, far, gateway, upstream } = await openPair();
      const [from, to] = by === "client" ? [client, far] : [far, client];
      const closed = closeOf(to);
      from.close(code, reason);
      assert.deepEqual(await closed, { code, reason });
      assertIncludes(await gateway.result(), { kind: "closed", code, by });
      await isEmpty(upstream.sockets);
      await isEmpty(gateway.sockets);
    });
  }
}

for (const by of ["client", "upstream"] as const) {
  test(`a close without a code by the ${by} stays without one`, async () => {
    const { client, far, gateway } = await openPair();
    const [from, to] = by === "client" ? [client, far] : [far, client];
    const closed = closeOf(to);
    from.close();
    assert.deepEqual(await closed, { code: 1005, reason: "" });
    assertIncludes(await gateway.result(), { kind: "closed", code: 1005, by });
  });
}

test("messages sent just before a close arrive before it", async () => {
  const { client, far } = await openPair();
  let bytes = 0;
  far.on("message", (data: Buffer) => {
    bytes += data.length;
  });
  const closed = closeOf(far);
  for (let i = 0; i < 100; i++) client.send(Buffer.alloc(100_000));
  client.close(1000, "all said");
  assert.deepEqual(await closed, { code: 1000, reason: "all said" });
  assert.equal(bytes, 10_000_000);
});

test("a client whose connection breaks aborts the upstream within 100 ms", async () => {
  let tookMs = Number.POSITIVE_INFINITY;
  // The fastest of several, since another process may hold the core longer than that.
  for (let time = 0; time < 5 && tookMs >= 100; time += 1) {
    const { client, far, gateway, upstream } = await openPair();
    const closed = closeOf(far);
    const startedAt = performance.now();
    client.terminate();
    assert.equal((await closed).code, 1006);
    tookMs = Math.min(tookMs, performance.now() - startedAt);
    assertIncludes(await gateway.result(), { kind: "closed", code: 1006, by: "client" });
    await isEmpty(upstream.sockets);
    await isEmpty(gateway.sockets);
  }
  assert.ok(tookMs < 100, `${tookMs} ms`);
});

test("a client that ends its half of the connection and reads nothing aborts the upstream", async () => {
  const accepted = deferred<WebSocket>();
  const upstream = await openUpstream((websocket) => accepted.resolve(websocket));
  const gateway = await openGateway(() => ({ upstreamUrl: upstream.url }));
  const socket = await connectRaw(gateway.url, { allowHalfOpen: true });
  socket.write(`GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n${HANDSHAKE.join("\r\n")}\r\n\r\n`);
  const far = await accepted.promise;
  far.send(Buffer.alloc(32 * MEBIBYTE));
  const closed = closeOf(far);
  socket.end();
  assert.equal((await closed).code, 1006);
  assertIncludes(await gateway.result(), { kind: "closed", code: 1006, by: "client" });
});

test("an upstream whose connection breaks closes the client with 1011, after its last messages", async () => {
  const { client, far, gateway } = await openPair();
  const received: string[] = [];
  client.on("message", (data) => received.push(String(data)));
  const closed = closeOf(client);
  far.send("last words", () => far.terminate());
  assert.deepEqual(await closed, { code: 1011, reason: "the connection to the upstream was lost" });
  assert.deepEqual(received, ["last words"]);
  assertIncludes(await gateway.result(), { kind: "closed", code: 1006, by: "upstream" });
});

test("an upstream that resets the connection closes the client with 1011", async () => {
  const { client, gateway, upstream } = await openPair();
  const closed = closeOf(client);
  for (const socket of upstream.sockets) socket.resetAndDestroy();
  assert.equal((await closed).code, 1011);
  assertIncludes(await gateway.result(), { kind: "closed", code: 1006, by: "upstream" });
});

test("a message above the limit closes both sides with 1009", async () => {
  for (const by of ["client", "upstream"] as const) {
    const { client, far, gateway } = await openPair({ limits: { maxMessageBytes: 1000 } });
    const [from, to] = by === "client" ? [client, far] : [far, client];
    const arrived = once(to, "message");
    from.send(Buffer.alloc(1000));
    assert.equal((await arrived)[0].length, 1000);
    const closes = Promise.all([closeOf(client), closeOf(far)]);
    from.send(Buffer.alloc(1001));
    assert.deepEqual(
      (await closes).map((it) => it.code),
      [1009, 1009],
    );
    assertIncludes(await gateway.result(), { kind: "closed", code: 1009, by: "gateway" });
  }
});

test("text that is not UTF-8 closes both sides with 1007", async () => {
  const { client, far, gateway } = await openPair();
  const closes = Promise.all([closeOf(client), closeOf(far)]);
  client.send(Buffer.from([0xff, 0xfe]), { binary: false });
  assert.deepEqual(
    (await closes).map((it) => it.code),
    [1007, 1007],
  );
  assertIncludes(await gateway.result(), { kind: "closed", code: 1007, by: "gateway" });
});
