/** Starts of a data plane with several processes, and impossible ones. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { readWorkerCount } from "../../../src/server/node/index.ts";
import { type Document, writeFiles } from "../support/config.ts";
import { runProgram, startGateway } from "../support/gateway.ts";
import { freePort, listenLocally } from "../support/ports.ts";
import { eventually } from "../support/wait.ts";
import { workersOf } from "./support/workers.ts";

const DEPLOYMENT: Document = {
  providers: [{ name: "only", dialect: "compat", base_url: "http://127.0.0.1:9/v1" }],
  default_provider: "only",
};

test("a port in use by another process ends the start with the same error as in single-process mode", async (t) => {
  const server = createServer();
  const port = await listenLocally(server);
  t.after(() => server.close());
  const files = await writeFiles(t, DEPLOYMENT, { listen: `127.0.0.1:${port}` });
  const program = runProgram(t, { args: ["-config", files.nodePath], env: { GATEWAY_WORKERS: "2" } });
  assert.deepEqual(await program.ended, { status: 12, signal: null });
  assert.match(program.stderr(), /cannot listen: another process uses the address/);
});

test("no connection is accepted before all workers serve", async (t) => {
  const port = await freePort();
  const files = await writeFiles(t, DEPLOYMENT, { listen: `127.0.0.1:${port}` });
  const starting = startGateway(t, { args: ["-config", files.nodePath], env: { GATEWAY_WORKERS: "2" } });
  const letInAt = await eventually("a connection", async () => {
    const socket = connect(port, "127.0.0.1");
    const isLetIn = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    return isLetIn && Date.now();
  });
  const served = (await starting).log().filter(({ message }) => message === "worker serves");
  assert.equal(served.length, 2);
  for (const { time } of served) assert.ok(Date.parse(String(time)) <= letInAt, `let in before ${time}`);
});

test("without the setting there are as many workers as this machine has room for, and the log says how many", async (t) => {
  const files = await writeFiles(t, DEPLOYMENT);
  const gateway = await startGateway(t, { args: ["-config", files.nodePath], env: { GATEWAY_WORKERS: "" } });
  const count = readWorkerCount({});
  assert.equal(gateway.log().find(({ message }) => message === "ready")?.["workers"], count);
  assert.equal(workersOf(gateway).length, count === 1 ? 0 : count);
});

test("in flag mode one process serves, and the log says so", async (t) => {
  const gateway = await startGateway(t, {
    args: ["-upstream", "http://127.0.0.1:9/v1"],
    env: { GATEWAY_WORKERS: "2" },
  });
  assert.ok(gateway.log().some(({ message }) => /GATEWAY_WORKERS has no effect without -config/.test(String(message))));
});

for (const [what, workers, changes, pattern] of [
  ["not a number", "many", {}, /GATEWAY_WORKERS: expected a number of processes from 1 to 64, or auto, found "many"/],
  ["too many", "65", {}, /from 1 to 64/],
] as const) {
  test(`a worker count that is ${what} is refused`, async (t) => {
    const files = await writeFiles(t, DEPLOYMENT, changes);
    const program = runProgram(t, { args: ["-config", files.nodePath], env: { GATEWAY_WORKERS: workers } });
    assert.deepEqual(await program.ended, { status: 10, signal: null });
    assert.match(program.stderr(), pattern);
  });
}
