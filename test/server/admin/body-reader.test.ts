/** Refused bodies for a sender on the wire: the answer arrives, and no reset overtakes it. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { type TestContext, test } from "node:test";
import { OPERATIONS } from "../../../src/admin-api/index.ts";
import { asRefusal } from "../../../src/base/index.ts";
import { createBodyReader, discardRest, MAX_JSON_BYTES } from "../../../src/server/admin/body-reader.ts";

/** Refuses like the listener: sends the answer, then ends a connection with unread bytes. */
async function refusing(t: TestContext): Promise<number> {
  const bodies = createBodyReader();
  const server = createServer(async (request, response) => {
    const signal = new AbortController().signal;
    const error = await bodies.read(request, OPERATIONS.create_key, signal).catch((reason: unknown) => reason);
    await discardRest(request, true, signal);
    const { code, status } = asRefusal(error);
    response.writeHead(status, request.complete ? {} : { connection: "close" }).end(code);
    if (!request.complete) response.once("finish", () => request.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Sends everything before reading anything, as a client may. */
async function sendAll(port: number, head: string, body: Buffer, isEnded = true): Promise<string> {
  const socket = connect(port, "127.0.0.1").pause();
  await once(socket, "connect");
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n`);
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.write(body, () => resolve());
  });
  if (isEnded && head.startsWith("transfer")) socket.write("0\r\n\r\n");
  let text = "";
  for await (const chunk of socket) {
    text += chunk;
    if (text.includes("body_too_large")) break;
  }
  return text;
}

const LONG = Buffer.alloc(16 * MAX_JSON_BYTES, "x");

test("a body declared too long is answered after it was sent, and the connection stays open", async (t) => {
  const text = await sendAll(await refusing(t), `content-length: ${LONG.length}`, LONG);
  assert.match(text, /^HTTP\/1\.1 413 /);
  assert.match(text, /keep-alive/i);
});

test("a body that turns out too long is answered after it was sent, and the connection stays open", async (t) => {
  const chunk = Buffer.concat([Buffer.from(`${LONG.length.toString(16)}\r\n`), LONG, Buffer.from("\r\n")]);
  assert.match(await sendAll(await refusing(t), "transfer-encoding: chunked", chunk), /^HTTP\/1\.1 413 /);
});

test("a sender that stalls midway is answered too", async (t) => {
  const text = await sendAll(await refusing(t), `content-length: ${2 * LONG.length}`, LONG, false);
  assert.match(text, /^HTTP\/1\.1 413 .*connection: close/is);
});

test("draining ends at once if the caller disconnected or the body is complete", async (t) => {
  const outcomes: string[] = [];
  const server = createServer(async (request, response) => {
    await discardRest(request, true, AbortSignal.abort());
    outcomes.push(`left ${request.complete}`);
    await discardRest(request, true, new AbortController().signal);
    await discardRest(request, true, new AbortController().signal);
    outcomes.push(`through ${request.complete}`);
    response.end("body_too_large");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await sendAll((server.address() as AddressInfo).port, `content-length: ${LONG.length}`, LONG);
  assert.deepEqual(outcomes, ["left false", "through true"]);
});
