/** The client with servers that answer, refuse, delay, break off and send wrong data. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type AdminClient, AdminError, createAdminClient } from "../../src/admin-api/index.ts";

async function serveWith(t: TestContext, listener: RequestListener, timeLimitMs?: number): Promise<AdminClient> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-client-"));
  const socketPath = join(directory, "s");
  const server = createServer(listener).listen(socketPath);
  await once(server, "listening");
  const client = createAdminClient({
    address: { kind: "socket", path: socketPath },
    ...(timeLimitMs !== undefined && { timeLimitMs }),
  });
  t.after(async () => {
    client.close();
    server.closeAllConnections();
    server.close();
    await rm(directory, { recursive: true });
  });
  return client;
}

const answer = (status: number, body: string): RequestListener => {
  return (_request, response) => response.writeHead(status, { "content-type": "application/json" }).end(body);
};

async function rejection(promise: Promise<unknown>): Promise<AdminError> {
  const error = await promise.then(
    () => assert.fail("it was answered"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof AdminError, String(error));
  return error;
}

test("a call is sent with its method, path, query, headers and body", async (t) => {
  const seen: unknown[] = [];
  const client = await serveWith(t, async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const { "idempotency-key": key, "if-match": match, "content-type": type } = request.headers;
    seen.push([request.method, request.url, key, match, type, body]);
    response.end("{}");
  });
  await client.call("put_source", {
    params: { name: "a/b?c" },
    query: { dry_run: true },
    body: "x: ü",
    ifMatch: 7,
    idempotencyKey: "k",
  });
  await client.call("put_suspension", { params: { kind: "model", name: "a:b" }, body: { reason: "r" } });
  await client.call("get_status");
  assert.deepEqual(seen, [
    ["PUT", "/admin/v1/sources/a%2Fb%3Fc?dry_run=true", "k", '"7"', "application/yaml", "x: ü"],
    ["PUT", "/admin/v1/suspensions/model:a%3Ab", undefined, undefined, "application/json", '{"reason":"r"}'],
    ["GET", "/admin/v1/status", undefined, undefined, undefined, ""],
  ]);
});

test("a refusal keeps status, code, message and details", async (t) => {
  const body = '{"error":{"code":"refused","message":"No.","details":[{"line":3}]}}';
  const { status, code, message, details } = await rejection(
    (await serveWith(t, answer(422, body))).call("get_status"),
  );
  assert.deepEqual(
    { status, code, message, details },
    { status: 422, code: "refused", message: "No.", details: [{ line: 3 }] },
  );
});

for (const [title, status, body] of [
  ["an error page", 502, "<html>"],
  ["an error with another structure", 500, '{"error":"no"}'],
  ["an error that is null", 500, "null"],
  ["an answer that is not JSON", 200, "ok"],
] as const) {
  test(`${title} is reported as unintelligible`, async (t) => {
    const error = await rejection((await serveWith(t, answer(status, body))).call("get_status"));
    assert.deepEqual([error.status, error.code], [status, "unintelligible"]);
  });
}

test("a gateway that is down is unreachable, with the path of its socket", async (t) => {
  const client = createAdminClient({ address: { kind: "socket", path: "/nonexistent/gateway.sock" } });
  t.after(() => client.close());
  const error = await rejection(client.call("get_status"));
  assert.deepEqual([error.status, error.code], [0, "unreachable"]);
  assert.match(error.message, /\/nonexistent\/gateway\.sock/);
});

test("an answer that breaks off is unreachable", async (t) => {
  const breakOff = (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(200, { "content-length": 100 });
    response.write('{"a":', () => response.destroy());
  };
  assert.equal((await rejection((await serveWith(t, breakOff)).call("get_status"))).code, "unreachable");
});

test("a gateway that does not answer in time is abandoned, by the timeout of the client or of the call", async (t) => {
  const client = await serveWith(t, () => {}, 20);
  assert.equal((await rejection(client.call("get_status"))).code, "timeout");
  const patient = await serveWith(t, () => {});
  assert.equal((await rejection(patient.call("get_status", {}, { timeLimitMs: 20 }))).code, "timeout");
});

test("an answer that does not end in time is abandoned", async (t) => {
  const dawdle = (_request: IncomingMessage, response: ServerResponse): void => void response.write("{");
  assert.equal((await rejection((await serveWith(t, dawdle, 50)).call("get_status"))).code, "timeout");
});

test("a call is aborted by its signal, before and after it is sent", async (t) => {
  const client = await serveWith(t, () => {});
  assert.equal((await rejection(client.call("get_status", {}, { signal: AbortSignal.abort() }))).code, "aborted");
  const leaving = new AbortController();
  const call = client.call("get_status", {}, { signal: leaving.signal });
  leaving.abort();
  assert.equal((await rejection(call)).code, "aborted");
});

test("closing ends running calls", async (t) => {
  const client = await serveWith(t, () => client.close());
  assert.equal((await rejection(client.call("get_status"))).code, "aborted");
});

test("a body that cannot be read ends the call", async (t) => {
  const client = await serveWith(t, (request) => void request.resume());
  const body = (async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from("a");
    throw new Error("the file is gone");
  })();
  assert.equal((await rejection(client.call("restore_snapshot", { body }))).code, "unreachable");
});

test("a streamed answer may take longer than the timeout, and ends with its signal", async (t) => {
  const client = await serveWith(t, (_request, response) => void response.writeHead(200).write("first"), 100);
  const leaving = new AbortController();
  const archive = await client.call("save_snapshot", {}, { signal: leaving.signal });
  const reading = (async () => {
    for await (const part of archive) {
      assert.equal(String(part), "first");
      leaving.abort();
    }
  })();
  assert.equal((await rejection(reading)).code, "aborted");
});
