/**
 * The limits of a tunnel, its shutdown, its observer, and many tunnels at once, between real peers. Time passes only
 * where a limit is tested, and where a sender must be seen to pause.
 */
import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { afterEach, test } from "node:test";
import { WebSocket } from "ws";
import { closeTunnel, type TunnelSession } from "../../../../../src/server/dataplane/hops/websocket/tunnel.ts";
import {
  assertIncludes,
  closeOf,
  closePeers,
  isEmpty,
  openClient,
  openGateway,
  openPair,
  openUpstream,
} from "./peers.ts";

const MEBIBYTE = 1024 * 1024;

afterEach(closePeers);

for (const by of ["client", "upstream"] as const) {
  test(`a reader that pauses does not let memory grow, and gets everything once it resumes (sender: ${by})`, async () => {
    const { client, far, gateway } = await openPair();
    const [from, to] = by === "client" ? [client, far] : [far, client];
    to.pause();
    const count = 192;
    const rssBefore = process.memoryUsage().rss;
    const message = Buffer.alloc(MEBIBYTE, 1);
    let written = 0;
    // The sender keeps one message in flight, so that throttling is visible as a pause and not in its own memory.
    let stopped: (() => void) | undefined;
    let timer: NodeJS.Timeout | undefined;
    const stop = new Promise<void>((resolve) => {
      stopped = resolve;
    });
    const sendNext = (): void => {
      clearTimeout(timer);
      if (written === count) {
        stopped?.();
        return;
      }
      timer = setTimeout(() => stopped?.(), 300);
      from.send(message, () => {
        written++;
        sendNext();
      });
    };
    sendNext();
    await stop;
    // Only kernel buffers of two loopback connections (a few MiB each) and the high-water mark are in transit.
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

test("a session whose slow side reads nothing for too long ends with 1011", async () => {
  const { client, far, gateway } = await openPair({ limits: { stallMs: 100, closeMs: 100 } });
  far.pause();
  const closed = closeOf(client);
  for (let i = 0; i < 32; i++) client.send(Buffer.alloc(MEBIBYTE));
  assert.deepEqual(await closed, { code: 1011, reason: "the other side does not read its messages" });
  assertIncludes(await gateway.result(), { kind: "closed", code: 1011, by: "gateway" });
});

test("a session without frames ends with 1001, and one with pings alone does not", async (t) => {
  const idle = await openPair({ limits: { idleMs: 400 } });
  const busy = await openPair({ limits: { idleMs: 400 } });
  const pinging = setInterval(() => busy.client.ping(), 10);
  t.after(() => clearInterval(pinging));
  assert.deepEqual(await closeOf(idle.client), { code: 1001, reason: "idle for too long" });
  assertIncludes(await idle.gateway.result(), { kind: "closed", code: 1001, by: "gateway" });
  for (let i = 0; i < 30; i++) await once(busy.client, "pong");
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

test("a budget that is exceeded closes both sides with 1008, also from inside the observer", async () => {
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

test("a peer that ignores the close is cut off after the timeout", async () => {
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

test("the observer sees each message in both directions before it is passed on", async () => {
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

test("a failing observer ends the session with 1011 and not the process", async () => {
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

test("1,000 concurrent sessions echo and leave no socket and no timer behind", async () => {
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
  assert.equal(getEventListeners(shutdown.signal, "abort").length, 0);
});
