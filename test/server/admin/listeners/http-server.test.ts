/**
 * Shared by socket and listener: limits on connections, headers and time, answers to invalid HTTP, and a drain that
 * ends.
 */

import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { createHttpServer, type HttpOptions } from "../../../../src/server/admin/listeners/http-server.ts";
import { handleAll } from "./support/handle-all.ts";
import { dial, exchange, untilClosed } from "./support/raw.ts";

const GET = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

type Handle = (request: IncomingMessage, response: ServerResponse) => void;
const answerAll: Handle = (_, response) => void response.end("ok");

async function open(t: TestContext, { handle = answerAll, ...over }: Partial<HttpOptions> & { handle?: Handle } = {}) {
  const server = createHttpServer({
    maxConnections: 64,
    onConnection: () => undefined,
    registerRoutes: (app) => handleAll(app, handle),
    onAcceptFailure: (error) => assert.fail(error),
    onInternalError: (_, error) => assert.fail(String(error)),
    ...over,
  });
  await server.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => server.close(0));
  const address = server.address();
  if (address === null || typeof address === "string") return assert.fail("no address");
  return { server, where: { host: "127.0.0.1", port: address.port } };
}

for (const [name, bytes, status, code] of [
  ["bytes that are not HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "invalid"],
  ["a request without a host", "GET / HTTP/1.1\r\n\r\n", 400, "invalid"],
  ["a request with two hosts", "GET / HTTP/1.1\r\nhost: a\r\nHost: a\r\n\r\n", 400, "invalid"],
  [
    "a body with two lengths",
    "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    400,
    "invalid",
  ],
  [
    "headers above the limit",
    `GET / HTTP/1.1\r\nhost: a\r\nx: ${"a".repeat(17_000)}\r\n\r\n`,
    431,
    "headers_too_large",
  ],
  ["a path above the limit", `GET /${"a".repeat(17_000)} HTTP/1.1\r\nhost: a\r\n\r\n`, 431, "headers_too_large"],
] as const) {
  test(`${name}: ${status} ${code}, and the connection is closed`, async (t) => {
    const { where } = await open(t);
    const answer = await exchange(where, bytes);
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `));
    assert.match(answer, new RegExp(`"code":"${code}"`));
    assert.match(answer, /\r\nconnection: close\r\n/i);
  });
}

test("an HTTP/1.0 request needs no Host header", async (t) => {
  const { where } = await open(t);
  assert.match(await exchange(where, "GET / HTTP/1.0\r\n\r\n"), /^HTTP\/1\.1 200 /);
});

test("garbage after a request leaves its answer intact and closes the connection", async (t) => {
  const { where } = await open(t);
  const answer = await exchange(where, `${GET}\x00\x01garbage\r\n\r\n`);
  assert.ok(answer === "" || /^HTTP\/1\.1 (200|400) /.test(answer), answer);
  assert.ok((answer.match(/HTTP\/1\.1 200 /g) ?? []).length <= 1);
  assert.match(await exchange(where, "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"), /^HTTP\/1\.1 200 /);
});

test("pipelined requests on one connection are answered in order", async (t) => {
  const waiting: ServerResponse[] = [];
  const { where } = await open(t, {
    handle(request, response) {
      response.setHeader("x-path", request.url ?? "");
      waiting.push(response);
      if (waiting.length === 3) for (const one of [...waiting].reverse()) one.end();
    },
  });
  const of = (path: string, last = "") => `GET ${path} HTTP/1.1\r\nhost: a\r\n${last}\r\n`;
  const answer = await exchange(where, of("/1") + of("/2") + of("/3", "connection: close\r\n"));
  assert.deepEqual(
    [...answer.matchAll(/x-path: (\S+)/g)].map(([, path]) => path),
    ["/1", "/2", "/3"],
  );
});

test("slow headers are answered with 408", async (t) => {
  const { where } = await open(t, { headersLimitMs: 200 });
  const socket = await dial(where);
  socket.write("GET / HTTP/1.1\r\nhost: a\r\nx-slow:");
  const drip = setInterval(() => socket.write("a"), 20);
  socket.once("close", () => clearInterval(drip));
  const answer = await untilClosed(socket);
  assert.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/);
  assert.match(answer, /"code":"request_timeout"/);
});

test("connections above the limit are closed, and a closed one makes room again", async (t) => {
  const { where } = await open(t, { maxConnections: 8 });
  const held: Socket[] = [];
  for (let count = 0; count < 8; count++) held.push(await dial(where));
  assert.equal(await exchange(where, GET), "");
  const [first] = held;
  first?.end("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
  if (first !== undefined) assert.match(await untilClosed(first), /^HTTP\/1\.1 200 /);
  let answer = "";
  while (answer === "") answer = await exchange(where, "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
  assert.match(answer, /^HTTP\/1\.1 200 /);
  for (const socket of held) socket.destroy();
});

test("a rejected connection is closed and none of its requests is handled", async (t) => {
  let handled = 0;
  const { where } = await open(t, {
    onConnection() {
      throw new Error("not you");
    },
    handle(_, response) {
      handled += 1;
      response.end();
    },
  });
  assert.equal(await exchange(where, GET), "");
  assert.equal(handled, 0);
});

test("a close lets a running request finish and does not wait for idle connections", async (t) => {
  let running: ServerResponse | undefined;
  const { server, where } = await open(t, {
    handle(_, response) {
      running = response;
    },
  });
  const silent = await dial(where);
  const busy = await dial(where);
  busy.write(GET);
  while (running === undefined) await new Promise((resolve) => setImmediate(resolve));
  const closed = server.close(60_000);
  assert.equal(await untilClosed(silent), "");
  running.end("done");
  assert.match(await untilClosed(busy), /\r\n\r\n(4\r\n)?done/);
  await closed;
});

test("a close cuts off unfinished requests at its timeout", async (t) => {
  let handled = 0;
  const { server, where } = await open(t, {
    handle() {
      handled += 1;
    },
  });
  const busy = await dial(where);
  busy.write(GET);
  const half = await dial(where);
  while (handled === 0) await new Promise((resolve) => setImmediate(resolve));
  half.write("GET / HTTP/1.1\r\nhos");
  const closed = server.close(100);
  assert.deepEqual(await Promise.all([untilClosed(busy), untilClosed(half)]), ["", ""]);
  await closed;
});
