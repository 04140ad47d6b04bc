import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { createInstruments, nullLog } from "../../../../src/base/index.ts";
import { openAcceptor } from "../../../../src/server/workers/acceptor/acceptor.ts";

const open = () => openAcceptor("127.0.0.1:0", true, createInstruments(), nullLog);

/** Returns the code of the error that another listener on the port gets; `undefined` if it can listen. */
async function faultOf(port: number): Promise<unknown> {
  const server = createServer().listen(port, "127.0.0.1");
  const fault = await once(server, "listening").then(
    () => undefined,
    (error: unknown) => Reflect.get(Object(error), "code"),
  );
  server.close();
  return fault;
}

test("a port that the system chooses stays taken until the listener opens", async () => {
  const acceptor = await open();
  assert.equal(await faultOf(acceptor.port), "EADDRINUSE");
  await acceptor.listen();
  assert.equal(await faultOf(acceptor.port), "EADDRINUSE");
  await acceptor.stop(AbortSignal.abort());
  acceptor.close();
  assert.equal(await faultOf(acceptor.port), undefined);
});

test("an acceptor that is closed before it listens gives the port back", async () => {
  const acceptor = await open();
  acceptor.close();
  assert.equal(await faultOf(acceptor.port), undefined);
});
