/**
 * Clients and providers that violate the protocol, over raw sockets. The upstream receives only valid requests, the
 * process answers the next one, and nothing stays in flight.
 */
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { startWithFlags } from "./support/gateway.ts";
import { idle } from "./support/metrics.ts";
import { type Answer, type Bytes, exchange, headerOf, post, rawClient } from "./support/raw.ts";
import { reply, scriptedUpstream, startEvents, writeChunk } from "./support/upstream.ts";
import { eventually, within } from "./support/wait.ts";

const CHAT = "/v1/chat/completions";
const MIB = 1 << 20;

const file = { after };
const upstream = await scriptedUpstream(file);
const gateway = await startWithFlags(file, { upstream: upstream.url });

afterEach(async () => {
  upstream.script = (socket) => reply(socket);
  const answer = await exchange(file, gateway.port, post(CHAT, '{"model":"sound"}'));
  assert.equal(answer.status, 200);
  await idle(gateway);
});

function codeOf({ body }: Answer): unknown {
  return (JSON.parse(body.toString()) as { error: { code: unknown } }).error.code;
}

/** Asserts a refusal with this status and code, without an upstream call. */
async function refused(pieces: readonly Bytes[], status: number, code: string): Promise<Answer> {
  const before = upstream.requests.length;
  const answer = await exchange(file, gateway.port, ...pieces);
  const sent = Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString("latin1", 0, 200);
  assert.equal(answer.status, status, `${JSON.stringify(sent)} was answered ${answer.status}`);
  assert.equal(codeOf(answer), code);
  assert.equal(upstream.requests.length, before);
  return answer;
}

const BODIES: Readonly<Record<string, Bytes>> = {
  "an empty body": "",
  "a body that is not JSON": "model=x",
  "a body that stops in the middle": '{"model":"x","messages":[',
  "an array": '["model"]',
  "a string": '"model"',
  "two documents": '{"model":"x"}{"model":"y"}',
  "an extra comma": '{"model":"x",}',
  "a single-quoted name": "{'model':\"x\"}",
  "a byte order mark": Buffer.from('\u{feff}{"model":"x"}'),
  "bytes that are not UTF-8": Buffer.from('{"model":"x","a":"\xff\xfe"}', "latin1"),
  "an overlong encoding": Buffer.from([...Buffer.from('{"model":"x","a":"'), 0xc0, 0xaf, ...Buffer.from('"}')]),
  "no model": '{"messages":[]}',
  "a model that is null": '{"model":null}',
  "a model that is a number": '{"model":7}',
  "a model that is a list": '{"model":["x"]}',
  "a model that is an object": '{"model":{"model":"x"}}',
  "a model named twice": '{"model":"allowed","model":"other"}',
  "a model named twice, once with escapes": '{"model":"allowed","m\\u006fdel":"other"}',
  "nesting a thousand deep": `{"model":"x","a":${"[".repeat(1_000)}${"]".repeat(1_000)}}`,
};
for (const [what, body] of Object.entries(BODIES)) {
  test(`${what} is refused as an invalid request and never forwarded`, async () => {
    await refused([post(CHAT, body)], 400, "invalid_request");
  });
}

test("a body declared above the limit is refused before it is sent, and one that grows above it at once", async () => {
  const before = upstream.requests.length;
  const declared = await refused(
    [`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: ${33 * MIB}\r\n\r\n{`],
    413,
    "body_too_large",
  );
  assert.equal(headerOf(declared, "connection"), "close");
  const client = await rawClient(file, gateway.port);
  client.send(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
  const chunk = Buffer.concat([Buffer.from(`${MIB.toString(16)}\r\n`), Buffer.alloc(MIB, 0x20), Buffer.from("\r\n")]);
  for (let sent = 0; sent < 33; sent++) client.send(chunk);
  const grown = await client.answer();
  assert.deepEqual([grown.status, codeOf(grown)], [413, "body_too_large"]);
  client.socket.destroy();
  assert.equal(upstream.requests.length, before);
});

test("a small body that decompresses to a large one is refused", async () => {
  const { gzipSync } = await import("node:zlib");
  const bomb = gzipSync(`{"model":"x","a":"${"a".repeat(40 * MIB)}"}`);
  assert.ok(bomb.length < MIB);
  await refused([post(CHAT, bomb, ["Content-Encoding: gzip"])], 413, "body_too_large");
  await refused([post(CHAT, bomb.subarray(0, 100), ["Content-Encoding: gzip"])], 400, "invalid_request");
  await refused([post(CHAT, "{}", ["Content-Encoding: zstd"])], 400, "invalid_request");
  // Blocks of 128 KiB of one letter, four bytes each.
  const block = (isLast: boolean) => Buffer.from([isLast ? 3 : 2, 0, 0x10, 0x61]);
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58]);
  const blocks = Array.from({ length: 2_000 }, (_, at) => block(at === 1_999));
  await refused([post(CHAT, Buffer.concat([head, ...blocks]), ["Content-Encoding: zstd"])], 413, "body_too_large");
});

test("a body in Zstandard is read on every version of Node and forwarded unchanged", async () => {
  const packed = Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, 13, 0x69, 0, 0]), Buffer.from(SOUND)]);
  const client = await rawClient(file, gateway.port);
  client.send(post(CHAT, packed, ["Content-Encoding: zstd"]));
  assert.equal((await client.answer()).status, 200);
  client.socket.destroy();
  assert.deepEqual(upstream.requests.at(-1)?.body, packed);
});

const SOUND = '{"model":"x"}';
const SHAPES: Readonly<Record<string, string>> = {
  "a length and chunks": `Content-Length: 13\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n${SOUND}\r\n0\r\n\r\n`,
  "chunks and a length": `Transfer-Encoding: chunked\r\nContent-Length: 13\r\n\r\nd\r\n${SOUND}\r\n0\r\n\r\n`,
  "two lengths": `Content-Length: 13\r\nContent-Length: 2\r\n\r\n${SOUND}`,
  "two lengths in one header": `Content-Length: 13, 13\r\n\r\n${SOUND}`,
  "a length with a sign": `Content-Length: +13\r\n\r\n${SOUND}`,
  "a length in hexadecimal": `Content-Length: 0xd\r\n\r\n${SOUND}`,
  "an empty length": `Content-Length: \r\n\r\n${SOUND}`,
  "a space before the colon": `Content-Length : 13\r\n\r\n${SOUND}`,
  "a folded header": `X-Folded: a\r\n Content-Length: 2\r\nContent-Length: 13\r\n\r\n${SOUND}`,
  "a bare line feed": `X-A: b\nContent-Length: 13\r\n\r\n${SOUND}`,
  "a bare carriage return": `X-A: b\rContent-Length: 2\r\nContent-Length: 13\r\n\r\n${SOUND}`,
  "a NUL in a header": `X-A: b\0c\r\nContent-Length: 13\r\n\r\n${SOUND}`,
  "chunked twice": `Transfer-Encoding: chunked, chunked\r\n\r\nd\r\n${SOUND}\r\n0\r\n\r\n`,
  "chunked not last": `Transfer-Encoding: chunked, identity\r\n\r\nd\r\n${SOUND}\r\n0\r\n\r\n`,
  "an encoding that looks like chunked": `Transfer-Encoding: xchunked\r\n\r\nd\r\n${SOUND}\r\n0\r\n\r\n`,
  "a chunk size that is not a number": `Transfer-Encoding: chunked\r\n\r\nzz\r\n${SOUND}\r\n0\r\n\r\n`,
  "a negative chunk size": `Transfer-Encoding: chunked\r\n\r\n-d\r\n${SOUND}\r\n0\r\n\r\n`,
  "a chunk size that overflows": `Transfer-Encoding: chunked\r\n\r\n1000000000000000d\r\n${SOUND}\r\n0\r\n\r\n`,
  "a chunk longer than declared": `Transfer-Encoding: chunked\r\n\r\n3\r\n${SOUND}\r\n0\r\n\r\n`,
  "chunks with bare line feeds": `Transfer-Encoding: chunked\r\n\r\nd\n${SOUND}\n0\n\n`,
};
for (const [what, rest] of Object.entries(SHAPES)) {
  test(`a request with ${what} is refused and its connection closed`, async () => {
    const before = upstream.requests.length;
    const client = await rawClient(file, gateway.port);
    const smuggled = `GET /v1/models/smuggled HTTP/1.1\r\nHost: x\r\n\r\n`;
    client.send(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\n${rest}${smuggled}`);
    const answer = await client.answer();
    await within("the end of the connection", client.closed);
    assert.deepEqual([answer.status, codeOf(answer)], [400, "invalid_request"]);
    assert.equal(client.received().toString().split("HTTP/1.1 ").length, 2, "one answer");
    assert.equal(upstream.requests.length, before);
  });
}

const LINES: Readonly<Record<string, string>> = {
  "an absolute target": `GET http://127.0.0.1:${upstream.port}/v1/models HTTP/1.1\r\nHost: x\r\n\r\n`,
  "the asterisk target": "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
  "a parent segment": "GET /v1/models/../organizations HTTP/1.1\r\nHost: x\r\n\r\n",
  "an encoded parent segment": "GET /v1/models/%2e%2E/organizations HTTP/1.1\r\nHost: x\r\n\r\n",
  "a segment of one dot": "GET /v1/./models HTTP/1.1\r\nHost: x\r\n\r\n",
  "a parent segment at the end": "GET /v1/models/.. HTTP/1.1\r\nHost: x\r\n\r\n",
  "a backslash": "GET /v1\\..\\organizations HTTP/1.1\r\nHost: x\r\n\r\n",
  "an encoded slash after two dots": "GET /v1/files/..%2forganizations HTTP/1.1\r\nHost: x\r\n\r\n",
  "a bad percent-encoding": "GET /v1/models/%zz HTTP/1.1\r\nHost: x\r\n\r\n",
  "no host": "GET /v1/models HTTP/1.1\r\n\r\n",
  "two hosts": "GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
  "another protocol": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "the hello of TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
};
for (const [what, bytes] of Object.entries(LINES)) {
  test(`a request with ${what} is refused as an invalid request`, async () => {
    await refused([bytes], 400, "invalid_request");
  });
}

test("a target that the client probably got wrong is refused with advice", async () => {
  const advice: readonly (readonly [string, RegExp])[] = [
    ["POST http://gateway/v1/chat/completions", /not as its forward proxy/],
    ["CONNECT api.example.com:443", /not a forward proxy/],
    ["POST /v1//chat/completions", /the base URL ends in a slash/],
    ["POST /v1/chat/completions/", /Leave out the slash at its end/],
    ["GET /v1/models/", /Leave out the slash at its end/],
  ];
  for (const [line, expected] of advice) {
    const answer = await refused([`${line} HTTP/1.1\r\nHost: x\r\n\r\n`], 400, "invalid_request");
    assert.match(answer.body.toString(), expected, line);
  }
});

test("unknown paths and methods are answered 404 in the dialect of the path", async () => {
  for (const line of [
    "GET /",
    "GET //v1/models",
    "GET /v2/models",
    "PROPFIND /v1x",
    "GET /v1/organizations/x",
    "TRACE /",
  ]) {
    const answer = await refused([`${line} HTTP/1.1\r\nHost: x\r\n\r\n`], 404, "not_found");
    assert.equal(headerOf(answer, "x-request-id"), headerOf(answer, "x-gateway-request-id"));
  }
});

test("headers above the limit are refused with 431", async () => {
  const flood = Array.from({ length: 3_000 }, (_, at) => `X-Header-${at}: ${"a".repeat(40)}\r\n`).join("");
  for (const headers of [flood, `Cookie: ${"a".repeat(100_000)}\r\n`]) {
    await refused([`POST ${CHAT} HTTP/1.1\r\nHost: x\r\n${headers}`], 431, "headers_too_large");
  }
});

test("no header chooses where a request goes, and the upstream sees its own host name", async () => {
  for (const header of ["X-Forwarded-Host: evil.test", "Forwarded: host=evil.test", "X-Original-URL: /admin"]) {
    const answer = await exchange(
      file,
      gateway.port,
      post(`${CHAT}?x=http://evil.test/`, SOUND, ["X-A: b", header])
        .toString()
        .replace("Host: gateway", "Host: evil.test:1"),
    );
    assert.equal(answer.status, 200);
    const request = upstream.requests.at(-1);
    assert.equal(request?.target, `${CHAT}?x=http://evil.test/`);
    const hosts = request.headers.filter(([name]) => name.toLowerCase() === "host").map(([, value]) => value);
    assert.deepEqual(hosts, [`127.0.0.1:${upstream.port}`]);
  }
});

test("a client that expects 100 Continue gets it and is answered", async () => {
  const client = await rawClient(file, gateway.port);
  client.send(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${SOUND.length}\r\n\r\n`);
  assert.equal((await client.answer()).status, 100);
  client.send(SOUND);
  assert.equal((await client.answer()).status, 200);
  client.socket.destroy();
  const headers = upstream.requests.at(-1)?.headers.map(([name]) => name.toLowerCase());
  assert.ok(headers !== undefined && !headers.includes("expect"));
});

test("an unknown expectation is ignored, and its answer has an id like every other", async () => {
  const answer = await exchange(file, gateway.port, post(CHAT, SOUND, ["Expect: 200-maybe"]));
  assert.equal(answer.status, 200);
  assert.notEqual(headerOf(answer, "x-gateway-request-id"), undefined);
  const headers = upstream.requests.at(-1)?.headers.map(([name]) => name.toLowerCase());
  assert.ok(headers !== undefined && !headers.includes("expect"));
});

test("pipelined requests are answered in order, each once", async () => {
  const client = await rawClient(file, gateway.port);
  upstream.script = (socket, { body }) => reply(socket, { body });
  const before = upstream.requests.length;
  const models = ["one", "two", "three"].map((model) => `{"model":"${model}"}`);
  client.send(Buffer.concat(models.map((body) => post(CHAT, body))));
  for (const body of models) assert.equal((await client.answer()).body.toString(), body);
  client.socket.destroy();
  assert.equal(upstream.requests.length, before + 3);
});

test("a connection that closes during its request leaves nothing behind", async () => {
  const before = upstream.requests.length;
  for (const [bytes, leave] of [
    [`POST ${CHAT} HTTP/1.1\r\nHos`, "end"],
    [`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n{"mod`, "end"],
    [`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n{"mod`, "resetAndDestroy"],
    [`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"mod`, "end"],
  ] as const) {
    const client = await rawClient(file, gateway.port);
    client.send(bytes);
    client.socket[leave]();
    await within("the end of the connection", client.closed);
  }
  assert.equal(upstream.requests.length, before);
});

test("headers that trickle in hold a socket no longer than the timeout", async () => {
  const client = await rawClient(file, gateway.port);
  client.send("GET /v1/models HTTP/1.1\r\nHost: x\r\n");
  const trickle = setInterval(() => client.send("X-A: b\r\n"), 500);
  const startedAt = performance.now();
  try {
    const answer = await client.answer(13_000);
    assert.deepEqual([answer.status, codeOf(answer)], [408, "request_timeout"]);
    await within("the end of the connection", client.closed);
    assert.ok(performance.now() - startedAt < 12_500);
  } finally {
    clearInterval(trickle);
  }
});

test("garbage behind a pending request is not answered in its place", async () => {
  const before = upstream.requests.length;
  upstream.script = () => undefined;
  const client = await rawClient(file, gateway.port);
  client.send(post(CHAT, SOUND));
  await eventually("the request", () => upstream.requests.length > before);
  client.send("no request\r\n\r\n");
  await client.closed;
  assert.equal(client.received().toString(), "");
});

test("garbage behind a request does not get into the answer being sent", async () => {
  upstream.script = (socket) => {
    startEvents(socket);
    writeChunk(socket, "data: {}\n\n");
  };
  const client = await rawClient(file, gateway.port);
  client.send(post(CHAT, '{"model":"x","stream":true}'));
  await eventually("the stream", () => client.received().includes("data: {}"));
  client.send("no request\r\n\r\n");
  await client.closed;
  assert.ok(!client.received().includes("invalid_request"), client.received().toString());
});
