/** `gateway wait` against a server whose node is not ready. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { bufferIo } from "../buffer-io.ts";
import { json, standIn } from "../fake-gateway.ts";

const RUNNING = { state: "running", message: null };

test("a wait that times out on a node without a document says what the node needs", async (t) => {
  const { socket } = await standIn(t, (_asked, response) =>
    json(response, 200, { ready: false, reasons: ["starting", "configuration"], configuration: RUNNING, leader: "n1" }),
  );
  const io = bufferIo();
  assert.equal(await execute(["wait", "-socket", socket, "-timeout", "1ms", "ready"], io), 1);
  assert.equal(
    io.err(),
    "gateway wait: not ready within 1ms: ready: it cannot serve yet: no deployment document is in force (apply one, or restore an archive)\n",
  );
});

test("a node without a document can know its leader", async (t) => {
  const { socket } = await standIn(t, (_asked, response) =>
    json(response, 200, { ready: false, reasons: ["starting", "configuration"], configuration: RUNNING, leader: "n1" }),
  );
  assert.equal(await execute(["wait", "-socket", socket, "leader"], bufferIo()), 0);
});
