/**
 * Clients that offer another protocol than HTTP/1.1: the request is served in the current one (RFC 9110, section 7.8).
 * Java's own client offers HTTP/2 with each first request over plain HTTP.
 */
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { startWithFiles } from "./support/config.ts";
import { startWithFlags } from "./support/gateway.ts";
import { idle } from "./support/metrics.ts";
import { exchange, post, rawClient } from "./support/raw.ts";
import { reply, scriptedUpstream } from "./support/upstream.ts";
import { eventually } from "./support/wait.ts";

const CHAT = "/v1/chat/completions";
const BODY = '{"model":"m"}';
/** Headers that Java's client sends. */
const OFFER = [
  "Connection: Upgrade, HTTP2-Settings",
  "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
  "Upgrade: h2c",
];

const file = { after };
const upstream = await scriptedUpstream(file);
const alone = await startWithFlags(file, { upstream: upstream.url });
const several = await startWithFiles(file, {
  providers: [{ name: "p", dialect: "compat", base_url: `${upstream.url}/v1` }],
  default_provider: "p",
});

afterEach(() => {
  upstream.script = (socket) => reply(socket);
});

for (const [where, gateway] of Object.entries({ "one process": alone, "several processes": several })) {
  test(`in ${where} a request that offers HTTP/2 is answered in HTTP/1.1, and so is the next one on its connection`, async () => {
    const before = upstream.requests.length;
    const client = await rawClient(file, gateway.port);
    client.send(post(CHAT, BODY, OFFER));
    assert.equal((await client.answer()).status, 200);
    client.send(post(CHAT, BODY));
    assert.equal((await client.answer()).status, 200);
    client.send(post(CHAT, BODY, [...OFFER, "Expect: 100-continue"]));
    assert.equal((await client.answer()).status, 100);
    assert.equal((await client.answer()).status, 200);
    client.socket.destroy();
    const sent = upstream.requests.slice(before);
    assert.deepEqual(
      sent.map(({ body }) => body.toString()),
      [BODY, BODY, BODY],
    );
    for (const { headers } of sent) {
      assert.ok(headers.every(([name]) => !["upgrade", "http2-settings"].includes(name.toLowerCase())));
    }
    await idle(gateway);
  });

  test(`in ${where} bytes sent behind such a request are not lost, whole or in pieces`, async () => {
    const before = upstream.requests.length;
    const client = await rawClient(file, gateway.port);
    const read = Buffer.from(`GET /v1/models HTTP/1.1\r\nHost: x\r\n${OFFER.join("\r\n")}\r\n\r\n`);
    const next = post(CHAT, BODY);
    client.send(Buffer.concat([read, next.subarray(0, 40)]));
    assert.equal((await client.answer()).status, 200);
    client.send(next.subarray(40));
    assert.equal((await client.answer()).status, 200);
    client.socket.destroy();
    assert.deepEqual(
      upstream.requests.slice(before).map(({ method }) => method),
      ["GET", "POST"],
    );
  });

  test(`in ${where} a chunked body of such a request arrives complete`, async () => {
    const before = upstream.requests.length;
    const head = [`POST ${CHAT} HTTP/1.1`, "Host: x", ...OFFER, "Transfer-Encoding: chunked", "", ""].join("\r\n");
    const answer = await exchange(
      file,
      gateway.port,
      head,
      "6;x=y\r\n",
      BODY.slice(0, 6),
      `\r\n7\r\n${BODY.slice(6)}\r\n0\r\n\r\n`,
    );
    assert.equal(answer.status, 200);
    assert.equal(upstream.requests.slice(before)[0]?.body.toString(), BODY);
  });
}

for (const offer of ["h2c", "websocket"]) {
  test(`an offer of ${offer} behind a pending request ends the connection and is not answered first`, async () => {
    const before = upstream.requests.length;
    upstream.script = () => undefined;
    const client = await rawClient(file, alone.port);
    client.send(post(CHAT, BODY));
    await eventually("the first request", () => upstream.requests.length > before);
    client.send(`GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: ${offer}\r\n\r\n`);
    await client.closed;
    assert.equal(client.received().toString(), "");
    assert.equal(upstream.requests.length, before + 1);
    await idle(alone);
  });
}

test("protocols other than HTTP/2 are not switched to either, and a WebSocket handshake is not taken for a request", async () => {
  for (const offer of ["TLS/1.0", "foo/2, bar", "H2C"]) {
    const answer = await exchange(file, alone.port, post(CHAT, BODY, ["Connection: upgrade", `Upgrade: ${offer}`]));
    assert.equal(answer.status, 200, offer);
  }
  const session = ["Connection: upgrade", "Upgrade: WebSocket"];
  assert.equal((await exchange(file, alone.port, post("/v1/realtime?model=m", BODY, session))).status, 400);
});

test("a request that hides a length behind more headers than are read is refused", async () => {
  const before = upstream.requests.length;
  const many = Array.from({ length: 1_200 }, (_, at) => `a${at}: b`);
  const hidden = post(CHAT, `GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n`, [...OFFER, ...many]);
  const client = await rawClient(file, alone.port);
  client.send(hidden);
  assert.equal((await client.answer()).status, 400);
  await client.closed;
  assert.equal(upstream.requests.length, before);
});
