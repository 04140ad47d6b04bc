import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import test from "node:test";
import { openPickers } from "../../../../src/server/upstream/picker/pickers.ts";
import type { PickerSpec } from "../../../../src/server/upstream/pools/spec.ts";
import { atEnd, type Owner } from "../../../e2e/support/wait.ts";

test("a picker that was replaced while gRPC was being loaded is not connected to", async (context) => {
  const replaced = await openPort(context);
  const current = await openPort(context);
  const pickers = openPickers({ now: Date.now });
  atEnd(context, async () => pickers.close());
  pickers.keepOnly([replaced.spec]);
  pickers.keepOnly([current.spec]);
  await current.connected;
  assert.equal(replaced.connections(), 0);
});

async function openPort(owner: Owner) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket.on("error", () => undefined)));
  const connected = once(server, "connection");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(owner, async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  const spec: PickerSpec = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    isEncrypted: false,
    skipsVerification: false,
    refusesOnError: false,
    timeoutMs: 1_000,
  };
  return { spec, connected, connections: () => sockets.length };
}
