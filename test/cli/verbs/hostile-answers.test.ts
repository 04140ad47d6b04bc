/** Answers with terminal escapes, or without an end. */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { ARCHIVE_TYPE } from "../../../src/admin-api/index.ts";
import { execute } from "../../../src/cli/main.ts";
import { readOffers, SignInError } from "../../../src/cli/sign-in/index.ts";
import { listenLocally } from "../../e2e/support/ports.ts";
import { bufferIo } from "../buffer-io.ts";
import { json, standIn } from "../fake-gateway.ts";

/** Control Sequence Introducer as one character, which a header may contain and JSON does not escape. */
const CSI = "\u009b";

test("an archive whose index is not a number is refused, and its headers are not printed", async (t) => {
  const { socket, directory } = await standIn(t, (_asked, response) => {
    response.writeHead(200, { "content-type": ARCHIVE_TYPE, "x-gateway-index": `${CSI}2J`, "x-gateway-term": "3" });
    response.end("x");
  });
  const io = bufferIo({ cwd: directory });
  assert.equal(await execute(["snapshot", "save", "-socket", socket, "a.tgz"], io), 1);
  assert.match(io.err(), /is not an archive/);
  assert.ok(!io.err().includes(CSI));
});

test("query JSON escapes control characters without changing values", async (t) => {
  const result = { columns: [{ name: "name", type: "text" }], rows: [[`a${CSI}31m\u202eb`]], index: 1 };
  const { socket } = await standIn(t, (_asked, response) => json(response, 200, result));
  const io = bufferIo({ isTerminal: () => true });
  assert.equal(await execute(["query", "-socket", socket, "-o", "rows", "select 1"], io), 0);
  assert.ok(!/[\u0080-\u009f\u202e]/.test(io.out()), io.out());
  assert.deepEqual(JSON.parse(io.out()), result);
  for (const format of ["json", "csv"]) {
    const other = bufferIo({ isTerminal: () => true });
    assert.equal(await execute(["query", "-socket", socket, "-o", format, "select 1"], other), 0);
    assert.ok(other.out().includes("31m"), format);
    assert.ok(!/[\u0080-\u009f\u202e]/.test(other.out()), other.out());
  }
});

test("a gateway that switches protocols is unreachable, and does not hold up a sign-in", async (t) => {
  const answer = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
  const server = createServer(
    (socket) => void socket.on("error", () => undefined).once("data", () => socket.write(answer)),
  );
  const url = `http://127.0.0.1:${await listenLocally(server)}`;
  t.after(() => server.close());
  await assert.rejects(readOffers(url, new AbortController().signal), (error) => {
    assert.ok(error instanceof SignInError);
    assert.equal(error.status, 3);
    return true;
  });
});

test("a node that is not the leader reports a conflict, and -stale is suggested", async (t) => {
  const refused = { error: { code: "conflict", message: "This node does not lead." } };
  const { socket, directory } = await standIn(t, (_asked, response) => json(response, 409, refused));
  const io = bufferIo({ cwd: directory });
  assert.equal(await execute(["snapshot", "save", "-socket", socket, "a.tgz"], io), 1);
  assert.match(io.err(), /try: -stale/);
});
