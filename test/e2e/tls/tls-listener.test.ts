// tier: test
/** The TLS listener with certificate files, for clients of every kind. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:https";
import { after, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import { startWithFiles, twoDialects } from "../support/config.ts";
import { runProgram } from "../support/gateway.ts";
import { exchange, headerOf, post, rawClient } from "../support/raw.ts";
import { simulated } from "../support/simulated.ts";
import { eventually, within } from "../support/wait.ts";
import { handshake, sessionOf, startSecure } from "./support.ts";

const file = { after };
const provider = await simulated(file);
const deployment = {
  catalog_overlays: [twoDialects("simulator", provider.url)],
  providers: [{ preset: "simulator", models: ["sim-*"] }],
};
const gateway = await startSecure(file, deployment);
const { port, authority } = gateway;
const trusting = { ca: authority.root, servername: "localhost" };
const CHAT = "/v1/chat/completions";
const QUESTION = JSON.stringify({ model: "sim-small", messages: [{ role: "user", content: "hello" }] });

const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(gateway.metricsUrl ?? "")).text();
  return Number(new RegExp(`^${name.replace(/[{}]/g, "\\$&")} ([0-9.e+]+)$`, "m").exec(text)?.[1] ?? 0);
};

/** Sends a complete request on a TLS connection; resolves with the answer's text. */
async function ask(socket: TLSSocket, body = QUESTION): Promise<string> {
  let text = "";
  const hear = (chunk: Buffer): void => {
    text += chunk.toString();
  };
  socket.on("data", hear);
  socket.write(post(CHAT, body, ["content-type: application/json"]));
  await eventually("an answer", () => {
    const length = /content-length: (\d+)/i.exec(text)?.[1];
    return length !== undefined && text.length >= text.indexOf("\r\n\r\n") + 4 + Number(length);
  });
  socket.off("data", hear);
  return text;
}

test("TLS 1.2 and 1.3 present the whole chain, negotiate HTTP/1.1, and serve many requests per connection", async (t) => {
  for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
    const socket = await handshake(t, port, {
      ...trusting,
      minVersion: version,
      maxVersion: version,
      ALPNProtocols: ["h2", "http/1.1"],
    });
    assert.deepEqual([socket.getProtocol(), socket.alpnProtocol, socket.authorized], [version, "http/1.1", true]);
    for (let turn = 0; turn < 3; turn++) assert.match(await ask(socket), /^HTTP\/1\.1 200 OK/);
  }
});

test("older versions, weak ciphers and clients with HTTP/2 alone are refused in the handshake", async (t) => {
  const ciphers = "ALL:@SECLEVEL=0";
  for (const options of [
    { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers },
    { maxVersion: "TLSv1.2", ciphers: "AES128-SHA256:AES128-GCM-SHA256" },
    { maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-SHA" },
    { ALPNProtocols: ["h2"] },
  ] as const) {
    await assert.rejects(
      handshake(t, port, { ...trusting, ...options, ALPNProtocols: [...(options.ALPNProtocols ?? [])] }),
    );
  }
});

test("without a server name, or with an unknown one, the only certificate is presented", async (t) => {
  for (const servername of ["", "elsewhere.example"]) {
    const socket = await handshake(t, port, { ca: authority.root, servername, checkServerIdentity: () => undefined });
    assert.match(await ask(socket), /^HTTP\/1\.1 200 OK/);
  }
});

test("plain HTTP gets an error that names TLS, is closed, and its content is not logged", async (t) => {
  const before = provider.counts().requests;
  for (const pieces of [
    [post(CHAT, QUESTION, ["authorization: Bearer secret-of-a-client"])],
    ["POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\nExpect: 100-continue\r\n\r\n"],
    ["GET / HTTP/1.0\r\n\r\n"],
    [
      "GET /v1/realtime?model=sim HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n",
    ],
  ] as const) {
    const client = await rawClient(t, port);
    client.send(...pieces);
    let answer = await client.answer();
    if (answer.status === 100) answer = await client.answer();
    assert.equal(answer.status, 400);
    const { error } = JSON.parse(answer.body.toString()) as { error: { code: string; message: string } };
    assert.equal(error.code, "tls_required");
    assert.match(error.message, /^This port speaks TLS: use https:\/\/ in the URL\./);
    assert.equal(headerOf(answer, "location"), undefined);
    await within("the end of the connection", client.closed);
  }
  assert.equal(provider.counts().requests, before);
  assert.ok(!gateway.stderr().includes("secret-of-a-client"));
});

test("with certificate files ACME challenges are not answered, in plain or over TLS", async (t) => {
  const path = "/.well-known/acme-challenge/abcdefghijklmnopqrstuvwxyz0123456789-_ABCDE";
  const answer = await exchange(t, port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  assert.deepEqual([answer.status, answer.body.length, headerOf(answer, "connection")], [404, 0, "close"]);
  const socket = await handshake(t, port, trusting);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const [bytes] = (await within("an answer", once(socket, "data"))) as [Buffer];
  assert.match(bytes.toString(), /^HTTP\/1\.1 404 /);
});

test("a new pair is presented to new connections while open connections, streams and sessions continue", async (t) => {
  const old = await handshake(t, port, trusting);
  const serial = old.getPeerCertificate().serialNumber;
  assert.match(await ask(old), /200 OK/);
  const sessions = await Promise.all(
    (["TLSv1.2", "TLSv1.3"] as const).map((version) => sessionOf(t, port, trusting, version)),
  );
  const stream = await streamed(gateway.secureUrl);
  const socket = new WebSocket(`${gateway.secureUrl.replace("https", "wss")}/v1/realtime?model=sim-realtime`, {
    ca: authority.root,
  });
  t.after(() => socket.terminate());
  await within("the session", once(socket, "open"));
  await gateway.rotate();

  // Each data plane process loads it within moments.
  await eventually("the new certificate", async () => {
    const fresh = await handshake(t, port, trusting);
    return fresh.getPeerCertificate().serialNumber !== serial;
  });
  assert.match(await ask(old), /200 OK/);
  for (const session of sessions) {
    const resumed = await handshake(t, port, session);
    assert.equal(resumed.isSessionReused(), true);
    assert.match(await ask(resumed), /200 OK/);
  }
  assert.match(await stream, /data: \[DONE\]/);
  const echoed = once(socket, "message");
  socket.send(JSON.stringify({ type: "response.create" }));
  await within("an event of the session", echoed);
});

/** Requests a stream of events and reads it to its end. */
function streamed(url: string): Promise<string> {
  const body = JSON.stringify({ ...JSON.parse(QUESTION), model: "sim-slow", stream: true });
  return new Promise((done, failed) => {
    const sent = request(`${url}${CHAT}`, { method: "POST", ca: authority.root, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => done(text)).on("error", failed);
    });
    sent.on("error", failed).setHeader("content-type", "application/json");
    sent.end(body);
  });
}

test("a TLS session of one node is resumed at another of the same deployment", async (t) => {
  const tls = { cert_file: gateway.certFile, key_file: gateway.keyFile };
  const peer = await startWithFiles(t, deployment, { tls });
  for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
    const session = await sessionOf(t, port, trusting, version);
    assert.equal((await handshake(t, peer.port, session)).isSessionReused(), true);
  }
});

test("a wrong key on a running gateway is reported in log and metrics and causes no outage", async (t) => {
  const other = await authority.issue();
  const now = await authority.issue();
  await gateway.write({ chain: now.chain, key: other.key });
  const from = gateway.log().length;
  gateway.signal("SIGHUP");
  const line = await gateway.logged("the new certificate was rejected; the previous one stays in use", from);
  assert.deepEqual([line.level, line["reason"]], ["error", "wrong_key"]);
  assert.equal(
    line["problem"],
    `${gateway.keyFile}: the key does not belong to the certificate in ${gateway.certFile}`,
  );
  assert.equal(await metric("gateway_certificate_failures"), 1);
  assert.equal(await metric('gateway_certificate_reads_total{result="wrong_key"}'), 1);
  const days = ((await metric("gateway_certificate_not_after_seconds")) - Date.now() / 1_000) / 86_400;
  assert.ok(days > 89 && days < 91, `${days}`);
  assert.match(await ask(await handshake(t, port, trusting)), /200 OK/);
  await gateway.rotate();
  assert.equal(await metric("gateway_certificate_failures"), 0);
});

test("a client that disconnects in the handshake, stays silent or stalls holds no connection and blocks no other", async (t) => {
  const failures = await metric('gateway_tls_handshake_failures_total{reason="client_left"}');
  const leaver = await rawClient(t, port);
  leaver.send(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
  leaver.socket.end();
  await within("the end of the connection", leaver.closed);
  await eventually(
    "the count",
    async () => (await metric('gateway_tls_handshake_failures_total{reason="client_left"}')) > failures,
  );
  const stalling = Promise.all(
    Array.from({ length: 1_100 }, async (_, at) => {
      const client = await rawClient(t, port);
      if (at % 2 === 0) client.send(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
      return client;
    }),
  );
  // The first ones may have ended before the last has arrived.
  const many = async (): Promise<boolean> => (await metric("gateway_tls_handshakes_under_way")) >= 200;
  const [stalled] = await Promise.all([stalling, eventually("hundreds at once", many)]);
  assert.match(await ask(await handshake(t, port, trusting)), /200 OK/);
  const dripping = await rawClient(t, port);
  dripping.send(Buffer.from([0x16]));
  const drip = setInterval(() => void dripping.socket.write(Buffer.from([0x03])), 500);
  t.after(() => clearInterval(drip));
  // After the TLS handshake the HTTP limits apply.
  const agreed = await Promise.all(
    ["", "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"].map(async (begun) => {
      const socket = await handshake(t, port, trusting);
      socket.resume().write(begun);
      return once(socket, "close");
    }),
  );
  const ends = [...stalled, dripping].map(({ closed }) => closed);
  await within("the limit", Promise.all<unknown>([...ends, ...agreed]), 30_000);
  assert.equal(await metric("gateway_tls_handshakes_under_way"), 0);
});

/** RFC 8446 section 4.1.2, in records of 16 KiB; `name` in `server_name` (RFC 6066 section 3). */
function clientHello(name: Buffer): Buffer {
  const sized = (width: 1 | 2 | 3, content: Buffer): Buffer => {
    const length = Buffer.alloc(width);
    length.writeUIntBE(content.length, 0, width);
    return Buffer.concat([length, content]);
  };
  const serverName = sized(2, Buffer.concat([Buffer.from([0]), sized(2, name)]));
  const hello = Buffer.concat([
    Buffer.from([0x03, 0x03]),
    Buffer.alloc(32, 7),
    sized(1, Buffer.alloc(0)),
    sized(2, Buffer.from("1301c02b", "hex")),
    sized(1, Buffer.from([0])),
    sized(2, Buffer.concat([Buffer.from([0, 0]), sized(2, serverName)])),
  ]);
  const message = Buffer.concat([Buffer.from([1]), sized(3, hello)]);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += 16_384) {
    records.push(Buffer.from([0x16, 0x03, 0x01]), sized(2, message.subarray(at, at + 16_384)));
  }
  return Buffer.concat(records);
}

test("a server name of 65,000 bytes, one with a zero byte, and a hello of 16 MiB end in an alert", async (t) => {
  const endless = Buffer.from("160301000501ffffff03", "hex");
  for (const bytes of [clientHello(Buffer.alloc(65_000, "a")), clientHello(Buffer.from("a\0b")), endless]) {
    const client = await rawClient(t, port);
    client.send(bytes);
    await within("the end of the connection", client.closed);
    const answer = client.received();
    assert.equal(answer[0], 0x15, answer.toString("hex", 0, 16));
  }
  assert.match(await ask(await handshake(t, port, trusting)), /200 OK/);
});

test("a start without a usable pair ends with an error that names the file", async (t) => {
  const tls = { cert_file: gateway.certFile, key_file: gateway.rootFile };
  const { files } = gateway as unknown as {
    files: { dir: string; nodePath: string; writeNode(it: object): Promise<void> };
  };
  await files.writeNode({ tls });
  const program = runProgram(t, { args: ["-config", files.nodePath] });
  assert.deepEqual(await within("the end", program.ended), { status: 10, signal: null });
  assert.ok(
    program.stderr().includes(`tls: ${gateway.rootFile}: the key is a certificate; are the two files swapped?`),
  );
});
