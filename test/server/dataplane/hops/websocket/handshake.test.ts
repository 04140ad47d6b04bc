/** The WebSocket tunnel up to the client's 101: refusals, failures, headers and subprotocols, between real peers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer as createTcpServer, type Socket } from "node:net";
import { afterEach, test } from "node:test";
import { WebSocketServer } from "ws";
import {
  closeTunnel,
  offeredProtocols,
  prepareUpgradeHeaders,
  protocolCredential,
  refuseUpgrade,
} from "../../../../../src/server/dataplane/hops/websocket/tunnel.ts";
import { TEST_CERTIFICATE, TEST_KEY } from "./certificate.ts";
import {
  assertIncludes,
  closePeers,
  connectRaw,
  deferred,
  HANDSHAKE,
  isEmpty,
  listen,
  newClient,
  openClient,
  openGateway,
  openRawUpstream,
  openUpstream,
  portOf,
  trackedServer,
  upgradeRaw,
} from "./peers.ts";

afterEach(closePeers);

test("an upstream's refusal is the client's answer: status, headers and body", async () => {
  const { server } = trackedServer(
    createServer((_request, response) => {
      response.writeHead(429, [
        "Retry-After",
        "7",
        "X-Request-Id",
        "up-1",
        "Set-Cookie",
        "a=1",
        "Set-Cookie",
        "b=2",
        "x-gateway-provider",
        "theirs",
      ]);
      response.end('{"error":{"code":"rate_limit_exceeded"}}');
    }),
  );
  const port = await listen(server);
  const gateway = await openGateway(() => ({
    upstreamUrl: `ws://127.0.0.1:${port}/`,
    responseHeaders: ["x-gateway-provider", "ours"],
  }));
  const text = await upgradeRaw(gateway.url, HANDSHAKE);
  assert.match(text, /^HTTP\/1\.1 429 Too Many Requests\r\n/);
  for (const line of [
    "x-gateway-provider: ours",
    "Retry-After: 7",
    "X-Request-Id: up-1",
    "Set-Cookie: a=1",
    "Set-Cookie: b=2",
    "content-length: 40",
    "connection: close",
  ]) {
    assert.ok(text.includes(`\r\n${line}\r\n`), `${line} in ${text}`);
  }
  assert.ok(!/transfer-encoding|theirs/i.test(text));
  assert.ok(text.endsWith('\r\n\r\n{"error":{"code":"rate_limit_exceeded"}}'));
  assert.deepEqual(await gateway.result(), { kind: "refused", status: 429 });
});

test("an endless refusal is cut off at the limit", async () => {
  const { server } = trackedServer(
    createServer((_request, response) => {
      response.writeHead(503);
      const more = (): void => void (response.write("x".repeat(65_536)) && setImmediate(more));
      response.on("drain", more);
      more();
    }),
  );
  const port = await listen(server);
  const gateway = await openGateway(() => ({ upstreamUrl: `ws://127.0.0.1:${port}/` }));
  const text = await upgradeRaw(gateway.url, HANDSHAKE);
  assert.equal(text.slice(text.indexOf("\r\n\r\n") + 4).length, 256 * 1024);
  assert.deepEqual(await gateway.result(), { kind: "refused", status: 503 });
});

test("an unreachable upstream is upstream_unreachable, and an invalid answer is upstream_invalid", async () => {
  const gone = await openRawUpstream(() => {});
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server.address());
  server.close();
  await once(server, "close");
  const notTls = gone.url.replace("ws:", "wss:");
  const hangUp = await openRawUpstream((socket) => socket.once("data", () => socket.destroy()));
  const wrongKey = await openRawUpstream((socket) => {
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: no\r\n\r\n",
    );
  });
  const noTls = await openRawUpstream((socket) => socket.once("data", () => socket.write("plain text")));
  for (const url of [`ws://127.0.0.1:${port}/`, hangUp.url, wrongKey.url, noTls.url.replace("ws:", "wss:")]) {
    const gateway = await openGateway(() => ({ upstreamUrl: url }));
    const code = url === wrongKey.url ? "upstream_invalid" : "upstream_unreachable";
    const answer = await upgradeRaw(gateway.url, HANDSHAKE);
    assert.ok(answer.startsWith("HTTP/1.1 502 Bad Gateway\r\n") && answer.endsWith(code), answer);
    assertIncludes(await gateway.result(), { code });
  }
  const silent = await openGateway(() => ({ upstreamUrl: notTls, limits: { handshakeMs: 50 } }));
  assert.match(await upgradeRaw(silent.url, HANDSHAKE), /^HTTP\/1\.1 504 Gateway Timeout\r\n.*upstream_timeout$/s);
  await isEmpty(gone.sockets);
});

test("a slowly dripping handshake and an endless refusal are upstream_timeout", async () => {
  const drip = (start: string) => (socket: Socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write("x"), 10);
    socket.on("close", () => clearInterval(timer));
  };
  for (const start of ["HTTP/1.1 101 Switching Protocols\r\nx-slow: ", "HTTP/1.1 403 Forbidden\r\n\r\n"]) {
    const upstream = await openRawUpstream(drip(start));
    const gateway = await openGateway(() => ({ upstreamUrl: upstream.url, limits: { handshakeMs: 100 } }));
    assert.match(await upgradeRaw(gateway.url, HANDSHAKE), /^HTTP\/1\.1 504 /);
    await isEmpty(upstream.sockets);
  }
});

test("a client that disconnects during the upstream's handshake aborts it within 100 ms", async () => {
  /** Returns how long the upstream's connection outlives the client's, in milliseconds. */
  const timeOf = async (leave: "end" | "destroy" | "resetAndDestroy"): Promise<number> => {
    const reached = deferred<Socket>();
    const upstream = await openRawUpstream(
      (socket) => void socket.resume().once("data", () => reached.resolve(socket)),
    );
    const gateway = await openGateway(() => ({ upstreamUrl: upstream.url }));
    const socket = await connectRaw(gateway.url);
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n${HANDSHAKE.join("\r\n")}\r\n\r\n`);
    const far = await reached.promise;
    const startedAt = performance.now();
    const closed = once(far, "close");
    socket[leave]();
    await closed;
    const tookMs = performance.now() - startedAt;
    assertIncludes(await gateway.result(), { kind: "closed", code: 1006, by: "client", durationMs: 0 });
    await isEmpty(gateway.sockets);
    return tookMs;
  };
  for (const leave of ["end", "destroy", "resetAndDestroy"] as const) {
    let tookMs = Number.POSITIVE_INFINITY;
    // The fastest of several, since another process may hold the core longer than that.
    for (let time = 0; time < 5 && tookMs >= 100; time += 1) tookMs = Math.min(tookMs, await timeOf(leave));
    assert.ok(tookMs < 100, `${leave}: ${tookMs} ms`);
  }
});

test("a shutdown during the upstream's handshake answers overloaded and aborts it", async () => {
  const shutdown = new AbortController();
  const upstream = await openRawUpstream((socket) => void socket.once("data", () => shutdown.abort()));
  const gateway = await openGateway(() => ({ upstreamUrl: upstream.url, signal: shutdown.signal }));
  assert.match(await upgradeRaw(gateway.url, HANDSHAKE), /^HTTP\/1\.1 503 .*overloaded$/s);
  await isEmpty(upstream.sockets);
});

test("an upgrade request that is not a WebSocket handshake is refused before any upstream is called", async () => {
  let dialed = 0;
  const upstream = await openRawUpstream(() => dialed++);
  const gateway = await openGateway(() => ({ upstreamUrl: upstream.url }));
  for (const lines of [
    ["Upgrade: h2c"],
    ["Upgrade: websocket", "Sec-WebSocket-Version: 13"],
    ["Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: short"],
    [...HANDSHAKE, "Sec-WebSocket-Protocol: a, a"],
    [...HANDSHAKE, "Sec-WebSocket-Protocol: a,,b"],
    [...HANDSHAKE, `Sec-WebSocket-Protocol: ${Array.from({ length: 33 }, (_, i) => `p${i}`).join(",")}`],
  ]) {
    assert.match(await upgradeRaw(gateway.url, lines), /^HTTP\/1\.1 400 Bad Request\r\n.*invalid_request$/s);
  }
  const old = HANDSHAKE.map((line) => line.replace("13", "8"));
  assert.match(await upgradeRaw(gateway.url, old), /^HTTP\/1\.1 426 Upgrade Required\r\nsec-websocket-version: 13\r\n/);
  assert.equal(dialed, 0);
});

test("the credential among the subprotocols is read and not forwarded", async () => {
  const upstream = await openUpstream(() => {}, { handleProtocols: () => "realtime" });
  let credential: string | undefined;
  const gateway = await openGateway((request) => {
    credential = protocolCredential(offeredProtocols(request));
    return { upstreamUrl: upstream.url };
  });
  const client = await openClient(gateway.url, [
    "realtime",
    "openai-insecure-api-key.gwk_1",
    "openai-beta.realtime-v1",
  ]);
  assert.equal(credential, "gwk_1");
  assert.equal(client.protocol, "realtime");
  assert.equal(upstream.requests[0]?.headers["sec-websocket-protocol"], "realtime,openai-beta.realtime-v1");
});

test("the client gets the subprotocol that the upstream selected", async () => {
  const upstream = await openUpstream(() => {}, { handleProtocols: () => "second" });
  const gateway = await openGateway(() => ({ upstreamUrl: upstream.url }));
  assert.equal((await openClient(gateway.url, ["first", "second"])).protocol, "second");
});

test("an upstream without a selected subprotocol leaves the client without one, except for realtime", async () => {
  const upstream = await openUpstream(() => {}, { handleProtocols: () => false });
  const gateway = await openGateway(() => ({ upstreamUrl: upstream.url }));
  assert.equal((await openClient(gateway.url, ["realtime", "openai-insecure-api-key.k"])).protocol, "realtime");
  const [error] = await once(newClient(gateway.url, ["other"]), "error");
  assert.match(error.message, /Server sent no subprotocol/);
});

test("headers pass in both directions, except connection headers", async () => {
  const upstream = await openUpstream(() => {}, {
    headers: ["X-Request-Id: up-1", "X-Odd: caf\u00e9", "Keep-Alive: timeout=5"],
  });
  const headers = ["Authorization", "Bearer upstream", "X-Two", "1", "x-two", "2"];
  const gateway = await openGateway(() => ({
    upstreamUrl: upstream.url,
    upstream: { url: upstream.url, headers, protocols: [] },
    responseHeaders: ["x-gateway-provider", "openai"],
  }));
  const client = newClient(gateway.url);
  const [answer] = await once(client, "upgrade");
  assert.equal(answer.headers["x-gateway-provider"], "openai");
  assert.equal(answer.headers["x-request-id"], "up-1");
  assert.equal(answer.headers["keep-alive"], undefined);
  assert.equal(answer.headers["x-odd"], undefined);
  assert.equal(answer.headers["sec-websocket-extensions"], undefined);
  const seen = upstream.requests[0];
  assert.equal(seen?.headers.authorization, "Bearer upstream");
  assert.equal(seen?.headers["x-two"], "1, 2");
  assert.equal(seen?.headers.host, new URL(upstream.url).host);
  assert.equal(seen?.headers["sec-websocket-extensions"], undefined);
});

test("connection headers are dropped in any spelling, and the rest keeps order and repetitions", () => {
  const kept = ["X-A", "1", "x-a", "2", "Authorization", "Bearer k", "Origin", "https://x"];
  const dropped = [
    ...["Host", "x", "CONNECTION", "Upgrade, X-Hop", "Upgrade", "websocket", "x-hop", "1", "Keep-Alive", "timeout=5"],
    ...["Sec-WebSocket-Key", "k", "sec-websocket-protocol", "realtime", "TE", "trailers", "Content-Length", "0"],
  ];
  assert.deepEqual(prepareUpgradeHeaders([...dropped, ...kept]), kept);
});

test("no header can split an answer to an upgrade request", async () => {
  const socket = await connectRaw((await openRawUpstream(() => {})).url);
  assert.throws(() => refuseUpgrade(socket, 400, ["x-a", "1\r\nset-cookie: a=1"], ""), { code: "ERR_INVALID_CHAR" });
});

test("an invalid close code is refused where it is made", () => {
  for (const code of [999, 1004, 1005, 1006, 1015, 2000, 5000, 1000.5])
    assert.throws(() => closeTunnel(code, ""), RangeError);
  assert.throws(() => closeTunnel(1000, "x".repeat(124)), RangeError);
  assert.deepEqual(closeTunnel(1008, "budget"), { kind: "tunnel_closing", code: 1008, reason: "budget" });
});

test("wss trusts the configured authorities and no other certificate", async () => {
  const { server } = trackedServer(createTlsServer({ cert: TEST_CERTIFICATE, key: TEST_KEY }));
  new WebSocketServer({ server }).on("connection", (websocket) => websocket.send("secret"));
  const url = `wss://127.0.0.1:${await listen(server)}/`;
  const upstream = { url, headers: [], protocols: [] };
  const trusting = await openGateway(() => ({
    upstreamUrl: url,
    upstream: { ...upstream, connect: { ca: TEST_CERTIFICATE } },
  }));
  const [data] = await once(newClient(trusting.url), "message");
  assert.equal(String(data), "secret");
  const careful = await openGateway(() => ({ upstreamUrl: url, upstream }));
  assert.match(await upgradeRaw(careful.url, HANDSHAKE), /^HTTP\/1\.1 502 /);
});
