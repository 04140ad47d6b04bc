/**
 * Clients that leave, and clients that stay and do not read. Whoever leaves takes the upstream request along within
 * 100 ms (design decisions, section 6); whoever does not read stops the provider, and not the gateway's memory.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { after, afterEach, test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { TEST_CERTIFICATE, TEST_KEY } from "../server/dataplane/hops/websocket-certificate.ts";
import { startWithFiles, twoDialects } from "./support/config.ts";
import { startWithFlags } from "./support/gateway.ts";
import { idle, sumOf } from "./support/metrics.ts";
import { memoryOf } from "./support/process-memory.ts";
import { exchange, post, type RawClient, rawClient } from "./support/raw.ts";
import { endChunks, reply, scriptedUpstream, startEvents, writeChunk } from "./support/upstream.ts";
import { atEnd, eventually, type Owner, within } from "./support/wait.ts";

const CHAT = "/v1/chat/completions";
const ABORT_LIMIT_MS = 100;
/** The machine may be busy just when a client leaves; the best of these is the gateway's own time. */
const LEAVERS = 5;
const MIB = 1 << 20;

const file = { after };
const upstream = await scriptedUpstream(file);
const gateway = await startWithFlags(file, { upstream: upstream.url });

afterEach(async () => {
  upstream.script = (socket) => reply(socket);
  assert.equal((await exchange(file, gateway.port, post(CHAT, '{"model":"sound"}'))).status, 200);
  await idle(gateway);
});

async function left(): Promise<number> {
  return sumOf(await idle(gateway), "gateway_requests_total", { status: "499" });
}

/** Sends a request, waits until `script` has answered as far as it does, and hands over both ends. */
async function begin(
  owner: Owner,
  body: string,
  script: (socket: Socket) => void,
): Promise<{ readonly client: RawClient; readonly provider: Socket }> {
  const client = await rawClient(owner, gateway.port);
  const reached = new Promise<Socket>((done) => {
    upstream.script = (socket) => {
      script(socket);
      done(socket);
    };
  });
  client.send(post(CHAT, body));
  return { client, provider: await within("the request's arrival", reached) };
}

async function closing(provider: Socket, leave: () => void): Promise<number> {
  const closed = once(provider, "close");
  const startedAt = performance.now();
  leave();
  await within("the end of the upstream's connection", closed);
  return performance.now() - startedAt;
}

const STAGES = [
  {
    when: "before an answer has begun",
    body: '{"model":"m"}',
    script: () => undefined,
    shown: undefined,
  },
  {
    when: "within a stream",
    body: '{"model":"m","stream":true}',
    script: (socket: Socket) => {
      startEvents(socket);
      writeChunk(socket, "data: {}\n\n");
    },
    shown: "data: {}",
  },
  {
    when: "within an answer of a declared length",
    body: '{"model":"m"}',
    script: (socket: Socket) => void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegun"),
    shown: "begun",
  },
] as const;

for (const { when, body, script, shown } of STAGES) {
  for (const [how, leave] of [
    ["closes its connection", ({ socket }: RawClient) => socket.destroy()],
    ["resets its connection", ({ socket }: RawClient) => socket.resetAndDestroy()],
    ["ends its half of the connection", ({ socket }: RawClient) => socket.end()],
  ] as const) {
    test(`a client that ${how} ${when} ends the upstream request within ${ABORT_LIMIT_MS} ms`, async (t) => {
      const before = await left();
      const times: number[] = [];
      for (let i = 0; i < LEAVERS; i++) {
        const { client, provider } = await begin(t, body, script);
        if (shown !== undefined) await eventually("the beginning", () => client.received().includes(shown));
        times.push(await closing(provider, () => leave(client)));
      }
      assert.ok(Math.min(...times) < ABORT_LIMIT_MS, `it took ${times.map(Math.round).join(", ")} ms`);
      assert.equal((await left()) - before, LEAVERS);
    });
  }
}

test("a client that leaves within its body is counted as gone, and nothing reaches the provider", async (t) => {
  const before = await left();
  const seen = upstream.requests.length;
  const client = await rawClient(t, gateway.port);
  client.send(`POST ${CHAT} HTTP/1.1\r\nHost: gateway\r\nContent-Length: 1000\r\n\r\n{"model":"m",`);
  const { metricsUrl } = gateway;
  await eventually("held bytes", async () => {
    const text = await (await fetch(String(metricsUrl))).text();
    return /^gateway_buffered_bytes 13$/m.test(text);
  });
  client.socket.destroy();
  await eventually("the count", async () => (await left()) - before === 1);
  assert.equal(upstream.requests.length, seen);
});

test("one client that leaves does not disturb another's stream from the same provider", async (t) => {
  const { script } = STAGES[1];
  const stays = await begin(t, '{"model":"stays","stream":true}', script);
  const leaves = await begin(t, '{"model":"leaves","stream":true}', script);
  await closing(leaves.provider, () => leaves.client.socket.destroy());
  writeChunk(stays.provider, "data: [DONE]\n\n");
  endChunks(stays.provider);
  const answer = await stays.client.answer();
  assert.equal(answer.body.toString(), "data: {}\n\ndata: [DONE]\n\n");
});

test("a client that leaves while the connection is being made is let go at once, and its request is never sent", async (t) => {
  const requests: string[] = [];
  const held: Socket[] = [];
  const door = createTlsServer({ cert: TEST_CERTIFICATE, key: TEST_KEY }, (socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => requests.push(bytes.toString("latin1")));
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  });
  const listener = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.pause();
    held.push(socket);
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  atEnd(t, () => {
    for (const socket of held) socket.destroy();
    listener.close();
  });
  const at = listener.address();
  assert.ok(typeof at === "object" && at !== null);
  const { dir } = await certificateFile(t);
  const slow = await startWithFlags(t, {
    upstream: `https://127.0.0.1:${at.port}`,
    env: { NODE_EXTRA_CA_CERTS: dir },
  });
  const client = await rawClient(t, slow.port);
  client.send(post(CHAT, '{"model":"waits"}'));
  await eventually("the connection", () => held.length === 1);
  client.socket.destroy();
  const series = await idle(slow);
  assert.equal(sumOf(series, "gateway_requests_total", { status: "499" }), 1);

  const next = await rawClient(t, slow.port);
  next.send(post(CHAT, '{"model":"next"}'));
  for (const socket of held) door.emit("connection", socket);
  await eventually("the next request", () => {
    for (const socket of held.splice(0)) door.emit("connection", socket);
    return requests.some((text) => text.includes('"next"'));
  });
  assert.ok(!requests.some((text) => text.includes('"waits"')));
});
