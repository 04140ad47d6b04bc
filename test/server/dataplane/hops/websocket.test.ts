/**
 * The WebSocket tunnel once it is open, between real peers. Each test waits for events, never for time to pass, except
 * where a limit is what it shows.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, test } from "node:test";
import { WebSocket } from "ws";
import { GatewayError } from "../../../../src/base/index.ts";
import { closeTunnel, type TunnelSession } from "../../../../src/server/dataplane/hops/websocket.ts";
import {
  assertIncludes,
  closeOf,
  closePeers,
  connectRaw,
  deferred,
  HANDSHAKE,
  isEmpty,
  newClient,
  openClient,
  openGateway,
  openPair,
  openUpstream,
} from "./websocket-peers.ts";

const MEBIBYTE = 1024 * 1024;

afterEach(closePeers);

test("messages pass both ways with their kind and their boundaries", async () => {
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

test("what the upstream sends together with its 101 reaches the client", async () => {
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
  const upstream = await openUpstream((websocket) => websocket.on("message", (data) => websocket.send(data)));
  const gateway = await openGateway(() => ({ upstreamUrl: upstream.url }));
  const socket = await connectRaw(gateway.url);
  const request = `GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n${HANDSHAKE.join("\r\n")}\r\n\r\n`;
  // A masked text frame "early", with a mask of zeros, in two pieces: in the same packet as the request, and after it.
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

test("pings reach the other side with their payload and its pong comes back", async () => {
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

test("the gateway answers no ping itself", async () => {
  const { client, far } = await openPair({}, {}, { autoPong: false });
  let pongs = 0;
  client.on("pong", () => pongs++);
  const pinged = once(far, "ping");
  client.ping("x");
  await pinged;
  // A message behind the ping has come back by when a pong of the gateway's would have.
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

test("a client whose connection breaks cuts the upstream off within 100 ms", async () => {
  const { client, far, gateway, upstream } = await openPair();
  const closed = closeOf(far);
  const startedAt = performance.now();
  client.terminate();
  assert.equal((await closed).code, 1006);
  assert.ok(performance.now() - startedAt < 100);
  assertIncludes(await gateway.result(), { kind: "closed", code: 1006, by: "client" });
  await isEmpty(upstream.sockets);
  await isEmpty(gateway.sockets);
});

test("a client that ends its half of the connection and reads nothing cuts the upstream off", async () => {
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

test("an upstream whose connection breaks closes the client with 1011, after what it had sent", async () => {
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

test("a message over the bound closes both sides with 1009", async () => {
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

for (const by of ["client", "upstream"] as const) {
  test(`a reader that stops does not let memory grow, and gets all once it reads again (sender: ${by})`, async () => {
    const { client, far, gateway, upstream } = await openPair();
    const [from, to] = by === "client" ? [client, far] : [far, client];
    const sockets = by === "client" ? gateway.sockets : upstream.sockets;
    to.pause();
    const count = 192;
    const rssBefore = process.memoryUsage().rss;
    const message = Buffer.alloc(MEBIBYTE, 1);
    let written = 0;
    // The sender keeps one message in flight, so that what it cannot hand over shows as a stop and not in its own memory.
    let stopped: (() => void) | undefined;
    let timer: NodeJS.Timeout | undefined;
    const stop = new Promise<void>((resolve) => {
      stopped = resolve;
    });
    const sendNext = (): void => {
      clearTimeout(timer);
      if (written === count) return;
      timer = setTimeout(() => stopped?.(), 300);
      from.send(message, () => {
        written++;
        sendNext();
      });
    };
    sendNext();
    await stop;
    assert.ok(sockets.size > 0);
    // Kernel buffers of two loopback connections (a few MiB each) and the high-water mark are all that is on the way.
    assert.ok(written < 40, `${written} MiB left the sender`);
    assert.ok(process.memoryUsage().rss - rssBefore < 100 * MEBIBYTE);
    let received = 0;
    const all = new Promise<void>((resolve) => {
      to.on("message", (data: Buffer) => {
        assert.equal(data.length, MEBIBYTE);
        if (++received === count) resolve();
      });
    });
    to.resume();
    await all;
    clearTimeout(timer);
    client.close(1000);
    const result = await gateway.result();
    assertIncludes(result, { kind: "closed", code: 1000 });
  });
}

test("a session whose slow side reads nothing for too long is ended with 1011", async () => {
  const { client, far, gateway } = await openPair({ limits: { stallMs: 100, closeMs: 100 } });
  far.pause();
  const closed = closeOf(client);
  for (let i = 0; i < 32; i++) client.send(Buffer.alloc(MEBIBYTE));
  assert.deepEqual(await closed, { code: 1011, reason: "the other side does not read" });
  assertIncludes(await gateway.result(), { kind: "closed", code: 1011, by: "gateway" });
});

test("a session without a frame is ended with 1001, and one with pings only is not", async () => {
  const quiet = await openPair({ limits: { idleMs: 80 } });
  const busy = await openPair({ limits: { idleMs: 80 } });
  const pinging = setInterval(() => busy.client.ping(), 10);
  assert.deepEqual(await closeOf(quiet.client), { code: 1001, reason: "idle for too long" });
  assertIncludes(await quiet.gateway.result(), { kind: "closed", code: 1001, by: "gateway" });
  for (let i = 0; i < 30; i++) await once(busy.client, "pong");
  clearInterval(pinging);
  assert.equal(busy.client.readyState, WebSocket.OPEN);
});

test("a gateway that shuts down closes both sides with 1001", async () => {
  const shutdown = new AbortController();
  const { client, far, gateway } = await openPair({ signal: shutdown.signal });
  const closes = Promise.all([closeOf(client), closeOf(far)]);
  shutdown.abort();
  const expected = { code: 1001, reason: "the gateway is shutting down" };
  assert.deepEqual(await closes, [expected, expected]);
  assertIncludes(await gateway.result(), { kind: "closed", code: 1001, by: "gateway" });
});

test("a budget that breaks closes both sides with 1008, from within the observer too", async () => {
  const budget = new AbortController();
  const observe = { message: () => budget.abort(closeTunnel(1008, "budget exhausted")) };
  const { client, far, gateway } = await openPair({ signal: budget.signal, observe });
  const closes = Promise.all([closeOf(client), closeOf(far)]);
  let passed = 0;
  far.on("message", () => passed++);
  client.send("one too many");
  const expected = { code: 1008, reason: "budget exhausted" };
  assert.deepEqual(await closes, [expected, expected]);
  assert.equal(passed, 0);
  assertIncludes(await gateway.result(), { kind: "closed", code: 1008, by: "gateway" });
});

test("a peer that ignores the close is cut off after the limit", async () => {
  const shutdown = new AbortController();
  const { client, far, gateway, upstream } = await openPair({ signal: shutdown.signal, limits: { closeMs: 50 } });
  client.pause();
  far.pause();
  shutdown.abort();
  assertIncludes(await gateway.result(), { kind: "closed", code: 1001, by: "gateway" });
  client.resume();
  far.resume();
  await isEmpty(upstream.sockets);
  await isEmpty(gateway.sockets);
});

test("the observer sees each message of both directions before it is passed on", async () => {
  const seen: string[] = [];
  const observe: TunnelSession["observe"] = {
    message: (direction, data, isBinary) => void seen.push(`${direction} ${isBinary ? "binary" : "text"} ${data}`),
  };
  const { client, far } = await openPair({ observe });
  const up = once(far, "message");
  client.send("question");
  await up;
  const down = once(client, "message");
  far.send(Buffer.from("answer"));
  await down;
  assert.deepEqual(seen, ["client text question", "upstream binary answer"]);
});

test("an observer that fails ends the session with 1011 and not the process", async () => {
  const observe = {
    message() {
      throw new Error("a fault in metering");
    },
  };
  const { client, gateway } = await openPair({ observe });
  const closed = closeOf(client);
  client.send("x");
  assert.equal((await closed).code, 1011);
  assertIncludes(await gateway.result(), { kind: "closed", code: 1011, by: "gateway" });
});

test("1,000 sessions at once echo, and leave no socket and no timer behind", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on("warning", onWarning);
  const shutdown = new AbortController();
  const upstream = await openUpstream((websocket) => {
    websocket.on("message", (data, isBinary) => websocket.send(data, { binary: isBinary }));
  });
  const gateway = await openGateway(() => ({ upstreamUrl: upstream.url, signal: shutdown.signal }));
  const timersBefore = process.getActiveResourcesInfo().filter((it) => it === "Timeout").length;
  const open = async (_: unknown, i: number): Promise<WebSocket> => {
    const client = await openClient(gateway.url);
    const echoed = once(client, "message");
    client.send(`session ${i}`);
    assert.equal(String((await echoed)[0]), `session ${i}`);
    return client;
  };
  const clients = await Promise.all(Array.from({ length: 1000 }, open));
  assert.equal(upstream.sockets.size, 1000);
  const closes = Promise.all(clients.map(closeOf));
  for (const client of clients.slice(0, 500)) client.close(1000);
  for (const client of clients.slice(500, 750)) client.terminate();
  for (let i = 0; i < 750; i++) assertIncludes(await gateway.result(), { kind: "closed", by: "client" });
  shutdown.abort();
  for (let i = 0; i < 250; i++) assertIncludes(await gateway.result(), { kind: "closed", code: 1001 });
  await closes;
  await isEmpty(upstream.sockets);
  await isEmpty(gateway.sockets);
  assert.equal(process.getActiveResourcesInfo().filter((it) => it === "Timeout").length, timersBefore);
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []);
});
