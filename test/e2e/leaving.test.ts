/**
 * Clients that disconnect, and clients that stop reading. A disconnect aborts the upstream request within 100 ms
 * (design decisions, section 6); a client that does not read pauses the provider and costs no memory.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createSecureServer } from "node:http2";
import { createServer, type Socket } from "node:net";
import { after, afterEach, test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { TEST_CERTIFICATE, TEST_KEY } from "../server/dataplane/hops/websocket/certificate.ts";
import { startWithFiles, twoDialects } from "./support/config.ts";
import { startWithFlags } from "./support/gateway.ts";
import { memoryOf, trusting } from "./support/machine.ts";
import { idle, sumOf } from "./support/metrics.ts";
import { exchange, headerOf, post, type RawClient, rawClient } from "./support/raw.ts";
import { endChunks, reply, scriptedUpstream, startEvents, writeChunk } from "./support/upstream.ts";
import { atEnd, eventually, type Owner, within } from "./support/wait.ts";

const CHAT = "/v1/chat/completions";
const ABORT_LIMIT_MS = 100;
/** The machine may be busy at the moment of a disconnect; the best of these is the gateway's own time. */
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

/** Sends a request, waits until `script` has answered as far as it does, and returns both ends. */
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
  const closed = new Promise<void>((done) => provider.once("close", done)); // also after a reset
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
    when: "during a stream",
    body: '{"model":"m","stream":true}',
    script: (socket: Socket) => {
      startEvents(socket);
      writeChunk(socket, "data: {}\n\n");
    },
    shown: "data: {}",
  },
  {
    when: "during an answer with a declared length",
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

test("a client that disconnects during its body is counted, and nothing reaches the provider", async (t) => {
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

test("a client that disconnects does not disturb another's stream from the same provider", async (t) => {
  const { script } = STAGES[1];
  const stays = await begin(t, '{"model":"stays","stream":true}', script);
  const leaves = await begin(t, '{"model":"leaves","stream":true}', script);
  await closing(leaves.provider, () => leaves.client.socket.destroy());
  writeChunk(stays.provider, "data: [DONE]\n\n");
  endChunks(stays.provider);
  const answer = await stays.client.answer();
  assert.equal(answer.body.toString(), "data: {}\n\ndata: [DONE]\n\n");
});

test("a client that disconnects during the upstream connect is released at once, and its request is never sent", async (t) => {
  const requests: string[] = [];
  const held: Socket[] = [];
  const tlsServer = createTlsServer({ cert: TEST_CERTIFICATE, key: TEST_KEY }, (socket) => {
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
  const slow = await startWithFlags(t, { upstream: `https://127.0.0.1:${at.port}`, env: await trusting(t) });
  const client = await rawClient(t, slow.port);
  client.send(post(CHAT, '{"model":"waits"}'));
  await eventually("the connection", () => held.length === 1);
  client.socket.destroy();
  const series = await idle(slow);
  assert.equal(sumOf(series, "gateway_requests_total", { status: "499" }), 1);

  const next = await rawClient(t, slow.port);
  next.send(post(CHAT, '{"model":"next"}'));
  await eventually("the next request", () => {
    for (const socket of held.splice(0)) tlsServer.emit("connection", socket);
    return requests.some((text) => text.includes('"next"'));
  });
  assert.ok(!requests.some((text) => text.includes('"waits"')));
});

test("a client that disconnects between two attempts gets no further attempt", async (t) => {
  const provider = await scriptedUpstream(t, (socket) => reply(socket, { status: 503 }));
  const retry = { attempts: 5, backoff: "2s" };
  const patient = await startWithFiles(t, {
    catalog_overlays: [twoDialects("p", provider.url)],
    providers: [{ preset: "p", retry }],
  });
  const client = await rawClient(t, patient.port);
  client.send(post(CHAT, '{"model":"m"}'));
  await eventually("the first attempt", () => provider.requests.length === 1);
  client.socket.destroy();
  assert.equal(sumOf(await idle(patient), "gateway_requests_total", { status: "499" }), 1);
  patient.signal("SIGTERM");
  assert.deepEqual(await patient.ended, { status: 0, signal: null });
  assert.equal(provider.requests.length, 1);
});

test("a reader that pauses pauses the provider, costs no memory, and receives every byte once it resumes", async (t) => {
  const total = 200 * MIB;
  const chunk = Buffer.alloc(MIB, "x");
  let blockedAt = 0;
  let accepted = 0;
  const { client } = await begin(t, '{"model":"m"}', (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`);
    const pour = (): void => {
      blockedAt = 0;
      while (accepted < total) {
        accepted += MIB;
        if (!socket.write(chunk)) break;
      }
      blockedAt = performance.now();
    };
    socket.on("drain", pour);
    pour();
  });
  client.socket.pause();
  const before = memoryOf(gateway.pid, "VmRSS") ?? 0;
  await eventually("a provider that is stopped", () => blockedAt > 0 && performance.now() - blockedAt > 500);
  const grown = (memoryOf(gateway.pid, "VmRSS") ?? 0) - before;
  assert.ok(accepted < 64 * MIB, `${accepted} bytes were taken from the provider`);
  assert.ok(grown < 48 * MIB, `the gateway grew by ${grown} bytes`);
  const peakBefore = memoryOf(gateway.pid, "VmHWM") ?? 0;
  let read = client.received().length;
  client.socket.removeAllListeners("data").on("data", (bytes: Buffer) => {
    read += bytes.length;
  });
  client.socket.resume();
  await eventually("all bytes", () => read >= total);
  const peak = (memoryOf(gateway.pid, "VmHWM") ?? 0) - peakBefore;
  assert.ok(peak < 96 * MIB, `the gateway grew by ${peak} bytes`);
});

test("a reader that pauses and then disconnects ends the upstream request", async (t) => {
  let isBlocked = false;
  const { client, provider } = await begin(t, '{"model":"m"}', (socket) => {
    startEvents(socket);
    const pour = (): void => {
      while (writeChunk(socket, Buffer.alloc(MIB)));
      isBlocked = true;
    };
    socket.on("drain", pour);
    pour();
  });
  client.socket.pause();
  await eventually("a provider that is stopped", () => isBlocked);
  const tookMs = await closing(provider, () => client.socket.destroy());
  assert.ok(tookMs < 1_000, `it took ${tookMs} ms`);
});

for (const [bound, env, bodies] of [
  ["requests in flight", { GATEWAY_MAX_IN_FLIGHT: "2" }, ["{}", "{}", "{}"]],
  ["bytes", { GATEWAY_MAX_BUFFERED_BYTES: "150" }, ["x".repeat(20), "x".repeat(20), "x".repeat(80)]],
] as const) {
  test(`above the limit on ${bound} the answer is 503 overloaded, until there is room again`, async (t) => {
    const held: Socket[] = [];
    const provider = await scriptedUpstream(t, (socket) => held.push(socket));
    const small = await startWithFlags(t, { upstream: provider.url, env });
    const [first, second, third] = bodies.map((pad) => post(CHAT, JSON.stringify({ model: "m", pad })));
    const clients = await Promise.all([rawClient(t, small.port), rawClient(t, small.port)]);
    clients[0]?.send(String(first));
    clients[1]?.send(String(second));
    await eventually("two requests upstream", () => held.length === 2);
    const refused = await exchange(t, small.port, String(third));
    assert.equal(refused.status, 503);
    assert.equal(JSON.parse(refused.body.toString()).error.code, "overloaded");
    assert.equal(headerOf(refused, "x-should-retry"), undefined);
    assert.equal(provider.requests.length, 2);
    for (const socket of held) reply(socket);
    for (const client of clients) assert.equal((await client.answer()).status, 200);
    await idle(small);
    provider.script = (socket) => reply(socket);
    assert.equal((await exchange(t, small.port, String(third))).status, 200);
  });
}

test("SIGTERM lets a stream finish, refuses new connections, and closes idle ones", async (t) => {
  const provider = await scriptedUpstream(t);
  const stopping = await startWithFlags(t, { upstream: provider.url, env: { GATEWAY_DRAIN: "9s" } });
  const [idler, silent, client] = [
    await rawClient(t, stopping.port),
    await rawClient(t, stopping.port),
    await rawClient(t, stopping.port),
  ];
  idler.send(post(CHAT, '{"model":"m"}'));
  await idler.answer();
  let stream: Socket | undefined;
  provider.script = (socket) => {
    stream = socket;
    startEvents(socket);
    writeChunk(socket, "data: 1\n\n");
  };
  client.send(post(CHAT, '{"model":"m","stream":true}'));
  await eventually("the beginning", () => client.received().includes("data: 1"));
  stopping.signal("SIGTERM");
  await within("the end of silent connections", Promise.all([idler.closed, silent.closed]));
  await assert.rejects(fetch(stopping.url));
  assert.ok(stream !== undefined);
  writeChunk(stream, "data: 2\n\n");
  endChunks(stream);
  assert.equal((await client.answer()).body.toString(), "data: 1\n\ndata: 2\n\n");
  assert.deepEqual(await within("the exit", stopping.ended, 3_000), { status: 0, signal: null });
});

test("a second SIGTERM ends running requests at once", async (t) => {
  const provider = await scriptedUpstream(t, () => undefined);
  const stopping = await startWithFlags(t, { upstream: provider.url });
  const client = await rawClient(t, stopping.port);
  client.send(post(CHAT, '{"model":"m"}'));
  await eventually("the request upstream", () => provider.requests.length === 1);
  stopping.signal("SIGTERM");
  await stopping.logged("stopping: waiting for requests in flight; a second signal ends the process at once");
  stopping.signal("SIGTERM");
  const { status, signal } = await within("the exit", stopping.ended, 2_000);
  assert.ok(status !== 0 || signal !== null, "cut off requests are no clean end");
  await within("the end of the client's connection", client.closed);
});

test("a provider that offers HTTP/2 is called over HTTP/2, whole and streamed, and sees a client disconnect", async (t) => {
  const seen: string[] = [];
  const gone: string[] = [];
  const server = createSecureServer(
    { cert: TEST_CERTIFICATE, key: TEST_KEY, allowHTTP1: true },
    (request, response) => {
      seen.push(request.httpVersion);
      let body = "";
      request.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      request.on("end", () => {
        const { model } = JSON.parse(body);
        response.once("close", () => gone.push(model));
        if (model === "stays") response.writeHead(200, { "content-type": "application/json" }).end('{"whole":true}');
        else response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
        if (model === "ends") response.end("data: 2\n\n");
      });
    },
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(t, () => void server.close());
  const at = server.address();
  assert.ok(typeof at === "object" && at !== null);
  const secure = await startWithFlags(t, { upstream: `https://127.0.0.1:${at.port}`, env: await trusting(t) });
  const whole = await exchange(t, secure.port, post(CHAT, '{"model":"stays"}'));
  assert.deepEqual([whole.status, whole.body.toString()], [200, '{"whole":true}']);
  const streamed = await exchange(t, secure.port, post(CHAT, '{"model":"ends","stream":true}'));
  assert.deepEqual([streamed.status, streamed.body.toString()], [200, "data: 1\n\ndata: 2\n\n"]);
  const client = await rawClient(t, secure.port);
  client.send(post(CHAT, '{"model":"leaves","stream":true}'));
  await eventually("the beginning", () => client.received().includes("data: 1"));
  client.socket.destroy();
  await eventually("the reset of its stream", () => gone.includes("leaves"), 1_000);
  assert.deepEqual(seen, ["2.0", "2.0", "2.0"]);
  assert.equal(sumOf(await idle(secure), "gateway_requests_total", { status: "499" }), 1);
});
