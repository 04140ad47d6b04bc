/** Bodies that occupy memory needed by others: sent where none is read, or never completed. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { OPERATIONS, type Operation } from "../../../src/admin-api/index.ts";
import { asRefusal } from "../../../src/base/index.ts";
import { createBodyReader, MAX_JSON_BYTES } from "../../../src/server/admin/body-reader.ts";
import { atEnd, type Owner } from "../../e2e/support/wait.ts";
import { dial, untilClosed } from "./listeners/support/raw.ts";

const HEAD = `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${MAX_JSON_BYTES}\r\n\r\n`;

/** Time for a complete body, which needs some milliseconds. */
const LIMIT_MS = 1_500;

test("a long body is refused by its length if the operation takes none", async (t) => {
  const read = await readBy(t, OPERATIONS.get_whoami);
  const socket = await dial(read.where);
  socket.write(HEAD);
  const error = await read.outcome;
  const { code, message } = asRefusal(error);
  assert.deepEqual([code, message], ["invalid", "This operation takes no body."]);
});

test("a body that stalls midway releases its memory, and its connection ends", async (t) => {
  const read = await readBy(t, OPERATIONS.create_key, MAX_JSON_BYTES, LIMIT_MS);
  const socket = await dial(read.where);
  socket.write(HEAD + "x".repeat(1_000));
  await untilClosed(socket);
  assert.ok((await read.outcome) instanceof Error);

  const next = await dial(read.where);
  next.write(HEAD + "x".repeat(MAX_JSON_BYTES));
  assert.equal(await read.next(), MAX_JSON_BYTES);
  next.destroy();
});

/** Returns the length of the read body, or why it was not read. */
async function readBy(owner: Owner, operation: Operation, ...bounds: Parameters<typeof createBodyReader>) {
  const bodies = createBodyReader(...bounds);
  const reported: ((outcome: unknown) => void)[] = [];
  const next = () => new Promise<unknown>((resolve) => reported.push(resolve));
  const outcome = next();
  const server = createServer(async (request) => {
    const { signal } = new AbortController();
    const read = bodies.read(request, operation, signal).then(
      ({ bytes }) => bytes.length,
      (error: unknown) => error,
    );
    reported.shift()?.(await read);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(owner, async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const where = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
  return { where, outcome, next };
}
