/** The admin listener: authentication with and without issuers, refusals, and errors of listen addresses. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import { OPERATIONS } from "../../../../src/admin-api/index.ts";
import type { CheckToken } from "../../../../src/server/admin/listeners/token-authentication.ts";
import { openNetwork } from "./support/open-network.ts";
import { ask, codeOf, dial, untilClosed } from "./support/raw.ts";

const WHOAMI = "/admin/v1/whoami";
const HOST = ["host", "localhost"] as const;

/** Accepts the token `good`; `stuck` hangs until it is aborted, `broken` fails. */
const tokens: CheckToken = async (token, signal) => {
  if (token === "good") {
    return { kind: "principal", principal: { issuer: "corp", subject: "ann", roles: ["staff"] } };
  }
  if (token === "stuck") {
    await once(signal, "abort");
    signal.throwIfAborted();
  }
  if (token === "broken") throw new Error("a fault of the verifier");
  return { kind: "refused", fault: token, issuer: "corp", subject: undefined };
};

const bearer = (token: string) => ["authorization", `Bearer ${token}`] as const;

test("without an issuer every caller on the loopback address is `loopback` and needs no token", async (t) => {
  const { port, failures } = await openNetwork(t);
  const answer = await ask(port, WHOAMI, [HOST]);
  assert.deepEqual(JSON.parse(answer.body), { issuer: "local", subject: "loopback", roles: ["loopback"] });
  const withToken = await ask(port, WHOAMI, [HOST, bearer("anything")]);
  assert.equal(JSON.parse(withToken.body).subject, "loopback");
  assert.deepEqual(failures, []);
});

test("with an issuer the caller is the token's subject", async (t) => {
  const { port, failures } = await openNetwork(t, { tokens });
  for (const value of ["Bearer good", "bearer good", "BEARER  good"]) {
    const answer = await ask(port, WHOAMI, [
      ["host", "gateway.example"],
      ["authorization", value],
    ]);
    assert.deepEqual(JSON.parse(answer.body), { issuer: "corp", subject: "ann", roles: ["staff"] });
  }
  assert.deepEqual(failures, []);
});

for (const [name, headers] of [
  ["no credential", []],
  ["a credential of another scheme", [["authorization", "Basic YTpi"]]],
  ["an empty credential", [["authorization", ""]]],
] as const) {
  test(`${name}: the answer is 401 with a bearer challenge`, async (t) => {
    const { port, failures } = await openNetwork(t, { tokens });
    const answer = await ask(port, WHOAMI, [HOST, ...headers]);
    assert.deepEqual([answer.status, codeOf(answer)], [401, "unauthenticated"]);
    assert.equal(answer.headers.get("www-authenticate"), "Bearer");
    const request = answer.headers.get("x-gateway-request-id");
    assert.deepEqual(failures, [
      {
        door: "network",
        fault: "missing",
        issuer: null,
        subject: null,
        key_id: null,
        remote: "127.0.0.1",
        request,
      },
    ]);
  });
}

test("all rejected tokens get the same answer, which does not repeat them", async (t) => {
  const { port, failures, recorded } = await openNetwork(t, { tokens });
  const bodies = new Set<string>();
  const presented: readonly (readonly (readonly [string, string])[])[] = [
    [bearer("expired")],
    [bearer("unknown_key")],
    [["authorization", "Bearer"]],
    [["authorization", "Bearer two secret-words"]],
    [["authorization", 'Bearer "secret-words"']],
    [bearer("good"), bearer("good")],
    [bearer("good"), ["authorization", "Basic YTpi"]],
  ];
  for (const headers of presented) {
    const answer = await ask(port, WHOAMI, [HOST, ...headers]);
    assert.equal(answer.status, 401);
    assert.equal(answer.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
    bodies.add(answer.body);
  }
  assert.equal(bodies.size, 1);
  assert.doesNotMatch([...bodies].join(), /secret|expired|unknown_key/);
  assert.deepEqual(
    failures.map(({ fault }) => fault),
    ["expired", "unknown_key", ...Array.from({ length: 5 }, () => "malformed")],
  );
  assert.doesNotMatch(recorded(), /secret|good/);
});

test("a token in the query or the body is ignored", async (t) => {
  const { port } = await openNetwork(t, { tokens });
  assert.equal((await ask(port, `${WHOAMI}?access_token=good`, [HOST])).status, 401);
});

test("a check that takes too long is reported as such and ends", async (t) => {
  const { port, failures } = await openNetwork(t, { tokens, checkLimitMs: 50 });
  const answer = await ask(port, WHOAMI, [HOST, bearer("stuck")]);
  assert.deepEqual([answer.status, codeOf(answer)], [503, "busy"]);
  assert.equal(failures[0]?.["fault"], "late");
});

test("a check that fails is an internal error and admits nobody", async (t) => {
  const { port } = await openNetwork(t, { tokens });
  const answer = await ask(port, WHOAMI, [HOST, bearer("broken")]);
  assert.deepEqual([answer.status, codeOf(answer)], [500, "internal"]);
  assert.doesNotMatch(answer.body, /verifier/);
});

test("only open operations are answered without a token, and no refusal reveals whether a resource exists", async (t) => {
  const { port } = await openNetwork(t, { tokens });
  for (const [id, operation] of Object.entries(OPERATIONS)) {
    const target = `/admin/v1${operation.path.replaceAll(/\{\w+\}/g, "x")}`;
    const answer = await ask(port, target, [HOST], { method: operation.method });
    assert.equal(answer.status === 401, !("isOpen" in operation), `${id}: ${answer.status}`);
  }
});

for (const path of ["/healthz", "/readyz"]) {
  test(`${path} is answered without a token, for any host name and for none`, async (t) => {
    for (const listener of [await openNetwork(t), await openNetwork(t, { tokens })]) {
      assert.equal((await ask(listener.port, path, [["host", "evil.example"]])).status, 200);
      assert.equal((await ask(listener.port, path, [], { version: "1.0" })).status, 200);
    }
  });
}

const others = Object.values(networkInterfaces())
  .flat()
  .flatMap((it) => (it === undefined || it.internal || it.family !== "IPv4" ? [] : [it.address]));

for (const address of [":0", "0.0.0.0:0", "[::]:0", ...others.slice(0, 1).map((other) => `${other}:0`)]) {
  test(`without an issuer ${address.replace(/\d+\.\d+\.\d+\.\d+/, (it) => (it === "0.0.0.0" ? it : "an outer address"))} is refused`, async (t) => {
    await assert.rejects(openNetwork(t, { address }), /^Error: admin\.listen: without an issuer .* loopback address/);
  });
}

for (const address of ["127.0.0.1:0", "127.8.9.10:0", "localhost:0", "[::1]:0"]) {
  test(`without an issuer the address ${address} is served`, async (t) => {
    const { listener } = await openNetwork(t, { address });
    const host = listener.address.replace(/:\d+$/, "").replace(/[[\]]/g, "");
    assert.equal((await ask(listener.port, WHOAMI, [HOST], { host })).status, 200);
  });
}

test("with an issuer every address is served", async (t) => {
  const { port } = await openNetwork(t, { address: ":0", tokens });
  for (const host of ["127.0.0.1", ...others.slice(0, 1)]) {
    assert.equal((await ask(port, WHOAMI, [["host", host], bearer("good")], { host })).status, 200);
  }
});

test("an address in use is named, with the system's error as the cause", async (t) => {
  const holder = createServer();
  holder.listen(0, "127.0.0.1");
  await once(holder, "listening");
  t.after(() => holder.close());
  const bound = holder.address();
  const port = typeof bound === "object" ? bound?.port : undefined;
  await assert.rejects(openNetwork(t, { address: `127.0.0.1:${port}` }), (error: Error) => {
    assert.match(error.message, new RegExp(`^admin\\.listen: cannot listen on 127\\.0\\.0\\.1:${port}: `));
    assert.equal((error.cause as NodeJS.ErrnoException).code, "EADDRINUSE");
    return true;
  });
});

test("an unresolvable name and an invalid address are reported", async (t) => {
  await assert.rejects(
    openNetwork(t, { address: "gateway.invalid:0", tokens }),
    /^Error: admin\.listen: cannot listen on/,
  );
  await assert.rejects(openNetwork(t, { address: "localhost" }), /is not host:port or :port/);
});

test("a closing listener answers blocking reads", async (t) => {
  const { port, listener } = await openNetwork(t);
  // HTTP/1.0 has no chunks.
  const first = await ask(port, "/admin/v1/keys", [HOST], { version: "1.0" });
  const { index } = JSON.parse(first.body);
  const waiting = ask(port, `/admin/v1/keys?index=${index}&wait=5m`, [HOST]);
  await ask(port, WHOAMI, [HOST]);
  const closed = listener.close();
  assert.equal((await waiting).status, 200);
  await closed;
  await assert.rejects(ask(port, WHOAMI, [HOST]), { code: "ECONNREFUSED" });
});

const EXPECT = "host: localhost\r\nexpect: 100-continue\r\n";
const GOOD = "authorization: Bearer good\r\n";
const JSON_BODY = '{"name":"k"}';
const ofJson = `content-type: application/json\r\ncontent-length: ${JSON_BODY.length}\r\n`;

test("a caller that expects 100 Continue is authorized first, and is asked for its body only where one is taken", async (t) => {
  const { port } = await openNetwork(t, { tokens });
  for (const [status, line, headers] of [
    [401, "POST /admin/v1/keys", ofJson],
    [401, "POST /admin/v1/keys", `authorization: Bearer bad\r\n${ofJson}`],
    [401, "POST /admin/v1/keys", "transfer-encoding: chunked\r\n"],
    [401, "POST /admin/v1/snapshot", "content-type: application/gzip\r\ncontent-length: 1000000\r\n"],
    [401, "PUT /admin/v1/sources/a", "content-length: 1000\r\n"],
    [404, "POST /admin/v1/nowhere", GOOD + ofJson],
    [405, "POST /admin/v1/whoami", GOOD + ofJson],
    [400, "POST /admin/v1/keys?hue=red", GOOD + ofJson],
    [400, "DELETE /admin/v1/keys/k", `${GOOD}content-length: 99999\r\n`],
    [413, "POST /admin/v1/keys", `${GOOD}content-type: application/json\r\ncontent-length: 99999999\r\n`],
    [417, "POST /admin/v1/keys", `${GOOD}${ofJson}`.replace(/^/, "expect: tea\r\n")],
  ] as const) {
    const expects = status === 417 ? "host: localhost\r\n" : EXPECT;
    const socket = await dial({ port, host: "127.0.0.1" });
    const began = performance.now();
    socket.write(`${line} HTTP/1.1\r\n${expects}${headers}${status === 417 ? "connection: close\r\n" : ""}\r\n`);
    const answer = await untilClosed(socket);
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), `${line}: ${answer}`);
    assert.doesNotMatch(answer, /HTTP\/1\.1 100/);
    // The request is answered within a client's timeout, without waiting for a body that is not sent.
    assert.ok(performance.now() - began < 5_000);
  }
});

test("an authorized caller gets 100 Continue once, and a caller that does not wait for it is served too", async (t) => {
  const { port } = await openNetwork(t, { tokens });
  for (const isPatient of [true, false]) {
    const socket = await dial({ port, host: "127.0.0.1" });
    socket.write(
      `POST /admin/v1/keys HTTP/1.1\r\n${EXPECT}connection: close\r\n${GOOD}${ofJson}\r\n${isPatient ? "" : JSON_BODY.replace("k", "j")}`,
    );
    if (isPatient) {
      const [first] = (await once(socket, "data")) as [Buffer];
      assert.equal(first.toString(), "HTTP/1.1 100 Continue\r\n\r\n");
      socket.write(JSON_BODY);
    }
    const answer = await untilClosed(socket);
    assert.match(answer.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, ""), /^HTTP\/1\.1 20[01] /);
  }
  const archive = await dial({ port, host: "127.0.0.1" });
  archive.write(
    `POST /admin/v1/snapshot HTTP/1.1\r\n${EXPECT}connection: close\r\n${GOOD}content-type: application/gzip\r\ncontent-length: 3\r\n\r\n`,
  );
  assert.equal(String((await once(archive, "data"))[0]), "HTTP/1.1 100 Continue\r\n\r\n");
  archive.write("abc");
  assert.match(await untilClosed(archive), /^HTTP\/1\.1 200 [\s\S]*"size":3/);
  // A client that sends anyway gets the reason of the refusal.
  const hasty = await dial({ port, host: "127.0.0.1" });
  hasty.write(`POST /admin/v1/keys HTTP/1.1\r\n${EXPECT}${ofJson}\r\n${JSON_BODY}`);
  assert.match(await untilClosed(hasty), /^HTTP\/1\.1 401 /);
});
