/**
 * Providers that violate the protocol, over raw sockets. The client gets an error of its own dialect or the original
 * bytes; it never takes a part for the whole, and the process answers the next request.
 */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, afterEach, test } from "node:test";
import { startWithFiles } from "./support/config.ts";
import { startWithFlags } from "./support/gateway.ts";
import { idle, readMetrics, sumOf } from "./support/metrics.ts";
import { freePort, listenLocally } from "./support/ports.ts";
import { type Answer, exchange, headerOf, post, rawClient } from "./support/raw.ts";
import { endChunks, reply, type Script, scriptedUpstream, startEvents, writeChunk } from "./support/upstream.ts";
import { atEnd, eventually, within } from "./support/wait.ts";

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const SOUND = '{"model":"x"}';

const file = { after };
const upstream = await scriptedUpstream(file);
const gateway = await startWithFlags(file, { upstream: upstream.url });
const messagesGateway = await startWithFlags(file, { upstream: upstream.url, dialect: "messages" });

afterEach(async () => {
  upstream.script = (socket) => reply(socket, { body: '"sound"' });
  const answer = await ask();
  assert.deepEqual([answer.status, answer.body.toString()], [200, '"sound"']);
  await idle(gateway);
});

const ask = (): Promise<Answer> => exchange(file, gateway.port, post(CHAT, SOUND));

function codeOf({ body }: Answer): unknown {
  return (JSON.parse(body.toString()) as { error: { code: unknown } }).error.code;
}

const HEAD = "HTTP/1.1 200 OK\r\n";
const UNREADABLE: Readonly<Record<string, string>> = {
  "bytes that are not HTTP": "THIS IS NOT HTTP\r\n\r\n",
  "two lengths": `${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc`,
  "a length and chunks": `${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  "a length that is not a number": `${HEAD}Content-Length: two\r\n\r\n{}`,
  "a NUL in a header": `${HEAD}X-A: a\0b\r\nContent-Length: 2\r\n\r\n{}`,
  "headers above the limit": `${HEAD}X-A: ${"a".repeat(100_000)}\r\nContent-Length: 2\r\n\r\n{}`,
  "an unrequested protocol switch": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
  "half a head": "HTTP/1.1 200 OK\r\nContent-Le",
  "nothing at all": "",
};
for (const [what, bytes] of Object.entries(UNREADABLE)) {
  const code = bytes === "" ? "upstream_unreachable" : "upstream_invalid";
  test(`a provider that answers with ${what} is reported as ${code}, in the caller's dialect`, async () => {
    upstream.script = (socket) => socket.end(Buffer.from(bytes, "latin1"));
    const compat = await ask();
    assert.deepEqual([compat.status, codeOf(compat)], [502, code]);
    const messages = await exchange(file, messagesGateway.port, post(MESSAGES, SOUND));
    assert.deepEqual([messages.status, codeOf(messages)], [502, code]);
    assert.equal((JSON.parse(messages.body.toString()) as { type: unknown }).type, "error");
  });
}

test("a provider that resets the connection before the headers is reported as unreachable", async () => {
  upstream.script = (socket) => socket.resetAndDestroy();
  const answer = await ask();
  assert.deepEqual([answer.status, codeOf(answer)], [502, "upstream_unreachable"]);
});

test("a provider address without a listener is reported as unreachable and not disclosed", async (t) => {
  const port = await freePort();
  const lonely = await startWithFlags(t, { upstream: `http://127.0.0.1:${port}` });
  const answer = await exchange(t, lonely.port, post(CHAT, SOUND));
  assert.deepEqual([answer.status, codeOf(answer)], [502, "upstream_unreachable"]);
  assert.doesNotMatch(answer.body.toString(), new RegExp(`127\\.0\\.0\\.1|${port}|ECONN`));
});

const CUTS: Readonly<Record<string, Script>> = {
  "a declared length, by closing": (socket) => socket.end(`${HEAD}Content-Length: 100\r\n\r\n{"half`),
  "a declared length, by a reset": (socket) => {
    socket.write(`${HEAD}Content-Length: 100\r\n\r\n{"half`, () => setImmediate(() => socket.resetAndDestroy()));
  },
  "chunks, by closing": (socket) => socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\n6\r\n{"half\r\n`),
  "chunks, by a bad size": (socket) => {
    socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n6\r\n{"half\r\nzz\r\n`);
  },
};
for (const [what, script] of Object.entries(CUTS)) {
  test(`an answer cut off within ${what} ends without its end marker`, async () => {
    upstream.script = script;
    const client = await rawClient(file, gateway.port);
    client.send(post(CHAT, SOUND));
    await within("the end of the connection", client.closed);
    await assert.rejects(client.answer(), /closed after/);
  });
}

test("of an answer that was held back until it broke off, the client gets as much as there was", async (t) => {
  const node = await startWithFiles(t, { providers: [{ name: "broken", dialect: "compat", base_url: upstream.url }] });
  for (const [what, script] of Object.entries(CUTS)) {
    upstream.script = script;
    const client = await rawClient(t, node.port);
    client.send(post(CHAT, SOUND));
    await within(`the end of the connection: ${what}`, client.closed);
    const received = client.received().toString("latin1");
    assert.match(received, /^HTTP\/1\.1 200 OK\r\n.*x-gateway-request-id: .*\r\n\r\n.*\{"half/s, what);
    assert.ok(!received.includes("\r\n0\r\n"), what);
  }
});

test("a server of another protocol is noticed by its first bytes, though it keeps the connection open", async () => {
  for (const greeting of [
    "SSH-2.0-OpenSSH_9.2\r\n",
    "-ERR unknown command\r\n",
    "220 mail ready\r\n",
    "\x15\x03\x01",
  ]) {
    upstream.script = (socket) => socket.write(Buffer.from(greeting, "latin1"));
    const answer = await ask();
    assert.deepEqual([answer.status, codeOf(answer)], [502, "upstream_invalid"], greeting);
  }
});

test("an event stream that breaks off ends with an error event of the caller's dialect and no end marker", async () => {
  const first = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
  upstream.script = (socket) => {
    startEvents(socket);
    writeChunk(socket, first);
    socket.end();
  };
  const counted = { code: "upstream_incomplete", status: "200" };
  const before = sumOf(await idle(gateway), "gateway_requests_total", counted);
  const compat = (await ask()).body.toString();
  assert.ok(compat.startsWith(first));
  assert.match(compat, /\n\ndata: \{"error":\{.*"code":"upstream_incomplete"\}\}\n\n$/);
  assert.doesNotMatch(compat, /DONE|finish_reason/);
  const messages = (await exchange(file, messagesGateway.port, post(MESSAGES, SOUND))).body.toString();
  assert.match(messages, /\n\nevent: error\ndata: \{"type":"error","error":\{.*upstream_incomplete.*\n\n$/);
  const series = await idle(gateway);
  assert.equal(sumOf(series, "gateway_requests_total", counted), before + 1);
});

test("any valid answer passes unchanged: a web page, a redirect, an odd status, no content", async () => {
  const page = { status: 200, headers: ["Content-Type: text/html"], body: "<html>not an answer</html>" };
  const redirect = { status: 307, headers: ["Location: http://evil.test/v1/chat/completions"], body: "" };
  const unusual = { status: 799, headers: ["X-Odd: \u00e9"], body: "odd" };
  for (const answered of [page, redirect, unusual]) {
    upstream.script = (socket) => reply(socket, answered);
    const before = upstream.requests.length;
    const answer = await ask();
    assert.equal(answer.status, answered.status);
    assert.equal(answer.body.toString(), answered.body);
    const [name = "", value] = answered.headers[0]?.split(": ") ?? [];
    assert.equal(headerOf(answer, name.toLowerCase()), value);
    assert.equal(upstream.requests.length, before + 1, "not followed");
  }
  upstream.script = (socket) => socket.write("HTTP/1.1 204 No Content\r\n\r\n");
  assert.equal((await ask()).status, 204);
});

const PHRASES = { "": 200, " ": 200, " \x01\x7f": 200, " \xe9t\xe9": 200, " OK\r\nX-A: a\x01b": 502 };
for (const [phrase, status] of Object.entries(PHRASES)) {
  test(`a status line followed by ${JSON.stringify(phrase)} is answered ${status} and does not shift later answers`, async () => {
    upstream.script = (socket) =>
      socket.write(Buffer.from(`HTTP/1.1 200${phrase}\r\nContent-Length: 2\r\n\r\n{}`, "latin1"));
    assert.equal((await ask()).status, status);
    for (const body of ["second", "third"]) {
      upstream.script = (socket) => reply(socket, { body });
      assert.equal((await ask()).body.toString(), body);
    }
  });
}

test("informational answers are skipped and the final one is returned", async () => {
  upstream.script = (socket) => {
    socket.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n");
    socket.write("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
    reply(socket, { body: "final" });
  };
  const answer = await ask();
  assert.deepEqual([answer.status, answer.body.toString()], [200, "final"]);
});

test("an unrequested second answer reaches no client", async () => {
  upstream.script = (socket) => {
    reply(socket, { body: "first" });
    reply(socket, { body: "forged" });
  };
  const client = await rawClient(file, gateway.port);
  client.send(post(CHAT, SOUND));
  assert.equal((await client.answer()).body.toString(), "first");
  upstream.script = (socket) => reply(socket, { body: "second" });
  client.send(post(CHAT, SOUND));
  assert.equal((await client.answer()).body.toString(), "second");
  client.socket.destroy();
});

test("a new connection is opened to a provider that closes after each answer", async () => {
  upstream.script = (socket) => {
    reply(socket, { body: "closing" });
    socket.end();
  };
  for (let turn = 0; turn < 3; turn++) {
    assert.equal((await ask()).body.toString(), "closing");
    await eventually("the end of the upstream connection", () => upstream.open() === 0);
  }
});

test("connection headers and headers that only the gateway may set are not taken from a provider", async () => {
  upstream.script = (socket) =>
    reply(socket, {
      headers: [
        "Connection: keep-alive, X-Secret",
        "X-Secret: hop",
        "Keep-Alive: timeout=1",
        "Proxy-Authenticate: Basic",
        "X-Gateway-Provider: forged",
        "X-Gateway-Request-Id: forged",
        "X-Request-Id: theirs",
        "Set-Cookie: a=1",
        "Set-Cookie: b=2",
      ],
    });
  const { headers } = await ask();
  const names = headers.map(([name]) => name.toLowerCase());
  assert.ok(!names.includes("x-secret") && !names.includes("proxy-authenticate"));
  assert.ok(!headers.some(([, value]) => value === "forged"));
  assert.equal(headerOf({ headers }, "x-request-id"), "theirs");
  assert.deepEqual(
    headers.filter(([name]) => name === "Set-Cookie").map(([, value]) => value),
    ["a=1", "b=2"],
  );
});

test("an answer sent before the body was read reaches the client", async (t) => {
  const early = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.pause();
      reply(socket, { status: 413, headers: ["Connection: close"], body: "too much" });
    });
    atEnd(t, () => socket.destroy());
  });
  atEnd(t, () => early.close());
  const port = await listenLocally(early);
  const eager = await startWithFlags(t, { upstream: `http://127.0.0.1:${port}` });
  const body = `{"model":"x","a":"${"a".repeat(20 << 20)}"}`;
  const answer = await exchange(t, eager.port, post(CHAT, body));
  assert.deepEqual([answer.status, answer.body.toString()], [413, "too much"]);
  await idle(eager);
});

test("endless events do not grow the gateway's memory without bound", async () => {
  upstream.script = (socket) => {
    startEvents(socket);
    writeChunk(socket, "data: ");
    for (let i = 0; i < 16; i++) writeChunk(socket, Buffer.alloc(1 << 20, 0x61));
    writeChunk(socket, "\n\n");
    endChunks(socket);
  };
  const answer = await ask();
  assert.equal(answer.body.length, (16 << 20) + 8);
});

test("a provider that never answers is abandoned at its timeout, once per allowed attempt", async (t) => {
  const slow = await scriptedUpstream(t, () => undefined);
  const node = await startWithFiles(t, {
    providers: [
      {
        name: "slow",
        dialect: "compat",
        base_url: slow.url,
        first_byte_timeout: "150ms",
        retry: { attempts: 1, when: ["timeout"], backoff: "10ms" },
      },
    ],
  });
  const timedOut = await exchange(t, node.port, post(CHAT, SOUND));
  assert.deepEqual([timedOut.status, codeOf(timedOut)], [504, "upstream_timeout"]);
  assert.equal(slow.requests.length, 2);
  await eventually("the end of the upstream connections", () => slow.open() === 0);
  const series = await readMetrics(node);
  assert.equal(sumOf(series, "gateway_upstream_attempts_total", { provider: "slow", outcome: "timeout" }), 2);
  assert.equal(sumOf(series, "gateway_retries_total", { provider: "slow" }), 1);
});
