/**
 * A stop as clients see it: answers that announce the end of their connection, closed idle connections, and a readable
 * error if the drain is too short.
 */
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import type { Socket } from "node:net";
import { after, test } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { type Gateway, runProgram, startWithFlags } from "./support/gateway.ts";
import { listenLocally } from "./support/ports.ts";
import { type Answer, headerOf, post, rawClient } from "./support/raw.ts";
import { reply, scriptedUpstream, startEvents, writeChunk } from "./support/upstream.ts";
import { atEnd, eventually, type Owner, within } from "./support/wait.ts";

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const STOPPING = "stopping: waiting for requests in flight; a second signal ends the process at once";
const CUT = "closed connections that were still open at the end of the drain";
const GOOD_END = { status: 0, signal: null };

const provider = await scriptedUpstream({ after });

/** Sends a request that the provider answers with `script`, and waits until it has arrived there. */
async function begin(t: Owner, port: number, bytes: Buffer, script: (socket: Socket) => void) {
  const client = await rawClient(t, port);
  const reached = new Promise<Socket>((done) => {
    provider.script = (socket) => {
      script(socket);
      done(socket);
    };
  });
  client.send(bytes);
  return { client, socket: await within("the request upstream", reached) };
}

async function stop(gateway: Gateway): Promise<void> {
  gateway.signal("SIGTERM");
  await gateway.logged(STOPPING);
  await eventually("closed doors", async () => {
    const probe = request({ port: gateway.port, host: "127.0.0.1", path: "/", agent: false }).end();
    return new Promise<boolean>((done) => {
      probe.once("error", (error: NodeJS.ErrnoException) => done(error.code === "ECONNREFUSED"));
      probe.once("response", (response) => done(response.resume().statusCode === undefined));
    });
  });
}

test("answers after the start of a stop announce the end of their connection, which then closes", async (t) => {
  const gateway = await startWithFlags(t, { upstream: provider.url, env: { GATEWAY_DRAIN: "10s" } });
  const { client: waiting, socket } = await begin(t, gateway.port, post(CHAT, '{"model":"m"}'), () => undefined);
  provider.script = (it) => reply(it);
  const idle = await rawClient(t, gateway.port);
  idle.send(post(CHAT, '{"model":"m"}'));
  assert.equal(headerOf(await idle.answer(), "connection"), "keep-alive");
  await stop(gateway);

  reply(socket);
  idle.send(post(CHAT, '{"model":"m"}'));
  for (const client of [waiting, idle]) {
    const answer = await client.answer();
    assert.equal(answer.status, 200);
    assert.equal(headerOf(answer, "connection"), "close");
    await within("the end of the connection", client.closed);
  }
  assert.deepEqual(await within("the exit", gateway.ended), GOOD_END);
  assert.ok(!gateway.log().some(({ message }) => message === CUT));
});

test("a connection whose answer began before the stop serves one more request, whose answer announces the end", async (t) => {
  const gateway = await startWithFlags(t, { upstream: provider.url, env: { GATEWAY_DRAIN: "10s" } });
  const { client, socket } = await begin(t, gateway.port, post(CHAT, '{"model":"m","stream":true}'), (it) => {
    startEvents(it);
    writeChunk(it, "data: 1\n\n");
  });
  await eventually("the beginning", () => client.received().includes("data: 1"));
  await stop(gateway);
  provider.script = (it) => reply(it);
  socket.write("0\r\n\r\n");
  assert.equal((await client.answer()).body.toString(), "data: 1\n\n");
  client.send(post(CHAT, '{"model":"m"}'));
  const last = await client.answer();
  assert.deepEqual([last.status, headerOf(last, "connection")], [200, "close"]);
  assert.deepEqual(await within("the exit", gateway.ended), GOOD_END);
});

test("a request still running at the end of GATEWAY_DRAIN ends with an error that its client can read, and is counted in the log", async (t) => {
  const compat = await startWithFlags(t, { upstream: provider.url, env: { GATEWAY_DRAIN: "1s" } });
  const messages = await startWithFlags(t, {
    upstream: provider.url,
    dialect: "messages",
    env: { GATEWAY_DRAIN: "1s" },
  });
  const stream = (socket: Socket): void => {
    startEvents(socket);
    writeChunk(socket, 'data: {"begun":1}\n\n');
  };
  const body = '{"model":"m","stream":true}';
  const chat = await begin(t, compat.port, post(CHAT, body), stream);
  const unbegun = await begin(t, compat.port, post(CHAT, '{"model":"m"}'), () => undefined);
  const half = await begin(t, compat.port, post(CHAT, '{"model":"m"}'), (socket) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{");
  });
  const message = await begin(t, messages.port, post(MESSAGES, body, ["anthropic-version: 2023-06-01"]), stream);
  const streams = [chat, message];
  for (const { client } of streams) await eventually("the beginning", () => client.received().includes("begun"));
  await eventually("half an answer", () => half.client.received().includes("Content-Length"));
  const left = [chat, unbegun, half, message].map(
    ({ socket }) => new Promise<void>((done) => socket.once("close", () => done())),
  );
  for (const gateway of [compat, messages]) gateway.signal("SIGTERM");

  const [chatEnd, messageEnd] = (await Promise.all(streams.map(({ client }) => client.answer()))) as [Answer, Answer];
  assert.match(
    chatEnd.body.toString(),
    /^data: {"begun":1}\n\n\n\ndata: {"error":{[^\n]*"code":"stopping"[^\n]*}\n\n$/,
  );
  assert.match(
    messageEnd.body.toString(),
    /^data: {"begun":1}\n\n\n\nevent: error\ndata: {"type":"error",[^\n]*}\n\n$/,
  );
  const refused = await unbegun.client.answer();
  assert.deepEqual([refused.status, headerOf(refused, "connection")], [503, "close"]);
  assert.equal(JSON.parse(refused.body.toString()).error.code, "stopping");
  assert.equal(headerOf(refused, "x-should-retry"), undefined);
  await within("the end of half an answer", half.client.closed);
  await within("the end of the provider's work", Promise.all(left));
  for (const [gateway, requests] of [
    [compat, 3],
    [messages, 1],
  ] as const) {
    assert.deepEqual(await within("the exit", gateway.ended), GOOD_END);
    const lines = gateway.log().filter(({ message }) => message === CUT);
    assert.deepEqual(
      lines.map(({ requests, sessions, drain }) => ({ requests, sessions, drain })),
      [{ requests, sessions: 0, drain: "1s" }],
    );
  }
});

test("a client that does not read its last frame does not delay the stop", async (t) => {
  const gateway = await startWithFlags(t, { upstream: provider.url, env: { GATEWAY_DRAIN: "100ms" } });
  let isBlocked = false;
  const { client } = await begin(t, gateway.port, post(CHAT, '{"model":"m"}'), (socket) => {
    startEvents(socket);
    while (writeChunk(socket, Buffer.alloc(1 << 20)));
    isBlocked = true;
  });
  client.socket.pause();
  await eventually("a provider that is stopped", () => isBlocked);
  gateway.signal("SIGTERM");
  assert.deepEqual(await within("the exit", gateway.ended, 6_000), GOOD_END);
  assert.equal(gateway.log().filter(({ message }) => message === CUT).length, 1);
  assert.ok(!gateway.log().some(({ message }) => message === "could not close"));
});

test("a session that outlasts the drain is closed with 1001 even if its client does not answer the close", async (t) => {
  const server = createServer();
  const webSockets = new WebSocketServer({ server });
  webSockets.on("connection", (socket) => socket.send('{"type":"response.created"}'));
  const port = await listenLocally(server);
  atEnd(t, () => {
    for (const socket of webSockets.clients) socket.terminate();
    server.close();
  });
  const upstream = `http://127.0.0.1:${port}`;
  const gateway = await startWithFlags(t, { upstream, env: { GATEWAY_DRAIN: "500ms" } });
  const url = `ws://127.0.0.1:${gateway.port}/v1/realtime?model=m`;
  const client = new WebSocket(url);
  atEnd(t, () => client.terminate());
  await within("a response under way", new Promise((done) => client.once("message", done)));
  const closed = new Promise<number>((done) => client.once("close", done));
  const mute = await rawClient(t, gateway.port);
  mute.send(
    "GET /v1/realtime?model=m HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );
  await eventually("a second response under way", () => mute.received().includes("response.created"));
  gateway.signal("SIGTERM");
  assert.equal(await within("the close", closed), 1001);
  assert.deepEqual(await within("the exit", gateway.ended, 6_000), GOOD_END);
  const [line] = gateway.log().filter(({ message }) => message === CUT);
  assert.deepEqual([line?.["requests"], line?.["sessions"]], [0, 2]);
});

test("a drain of zero ends at once; an invalid duration is refused with the expected format", async (t) => {
  const gateway = await startWithFlags(t, { upstream: provider.url, env: { GATEWAY_DRAIN: "0" } });
  const { client } = await begin(t, gateway.port, post(CHAT, '{"model":"m"}'), () => undefined);
  gateway.signal("SIGTERM");
  assert.equal((await client.answer()).status, 503);
  assert.deepEqual(await within("the exit", gateway.ended), GOOD_END);
  for (const text of ["30", "-1s", "25h", "soon"]) {
    const refused = runProgram(t, { args: ["-upstream", provider.url], env: { GATEWAY_DRAIN: text } });
    assert.deepEqual(await within("the refusal", refused.ended), { status: 10, signal: null });
    assert.ok(
      refused.stderr().includes(`GATEWAY_DRAIN: expected a duration from 0s to 24h such as 90s, found "${text}"`),
    );
  }
});
