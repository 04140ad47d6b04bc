/**
 * Exhausted file descriptors: idle connections are closed, new ones wait or get an error, none is reset, and the
 * gateway continues. In one process and in several.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { after, test } from "node:test";
import { writeFiles } from "./support/config.ts";
import { programFile, startWithFlags } from "./support/gateway.ts";
import { freePort } from "./support/ports.ts";
import { exchange, post, rawClient } from "./support/raw.ts";
import { reply, scriptedUpstream } from "./support/upstream.ts";
import { atEnd, eventually, type Owner, within } from "./support/wait.ts";

const hasPrlimit = spawnSync("prlimit", ["--version"]).status === 0;
const CHAT = post("/v1/chat/completions", '{"model":"sound"}');
const LIMIT = 256;
const CROWD = 700;

test("connections beyond the descriptor limit leave the gateway alive", {
  skip: hasPrlimit ? false : "prlimit is not installed",
}, async () => {
  const file = { after };
  const upstream = await scriptedUpstream(file);
  upstream.script = (socket) => reply(socket, { headers: ["Content-Type: application/json", "Connection: close"] });
  const gateway = await startWithFlags(file, { upstream: upstream.url });
  assert.equal((await exchange(file, gateway.port, CHAT)).status, 200);

  const early = await rawClient(file, gateway.port);
  early.send(CHAT);
  assert.equal((await early.answer()).status, 200);
  const open = (): number => readdirSync(`/proc/${gateway.pid}/fd`).length;
  // Fewer descriptors than are open: connected clients get an error that says so.
  assert.equal(spawnSync("prlimit", [`--nofile=${open() - 5}:`, `--pid=${gateway.pid}`]).status, 0);
  early.send(CHAT);
  const { status, body } = await early.answer();
  assert.equal(status, 502);
  assert.match(body.toString(), /no file descriptors left, see `ulimit -n`/);
  assert.equal(spawnSync("prlimit", ["--nofile=1024:", `--pid=${gateway.pid}`]).status, 0);
  await eventually("service again", async () => (await exchange(file, gateway.port, CHAT)).status === 200);
});

interface Started {
  readonly port: number;
  log(): string;
}

/** Starts it from a shell with a low limit, as a unit or a container sets it. */
async function startLimited(t: Owner, workers: string, upstream: string): Promise<Started> {
  const [port, metrics] = [await freePort(), await freePort()];
  const files = await writeFiles(
    t,
    { providers: [{ name: "only", dialect: "compat", base_url: `${upstream}/v1` }], default_provider: "only" },
    { listen: `127.0.0.1:${port}`, metrics_listen: `127.0.0.1:${metrics}` },
  );
  const command = `ulimit -n ${LIMIT}; exec "$0" "$@"`;
  const child = spawn("sh", ["-c", command, process.execPath, programFile(), "-config", files.nodePath], {
    env: { PATH: process.env["PATH"], GATEWAY_WORKERS: workers, GATEWAY_DRAIN: "100ms" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const ended = new Promise((done) => child.once("exit", done));
  atEnd(t, async () => {
    child.kill("SIGTERM");
    assert.equal(await within("the end", ended), 0);
  });
  await eventually("a gateway that is ready", () => log.includes('"message":"ready"'));
  return { port, log: () => log };
}

interface Crowd {
  readonly sockets: readonly Socket[];
  /** Connections that were reset before any answer. */
  resets(): number;
}

/** Opens idle connections; each sends `send` first, if given. */
function crowd(t: Owner, port: number, send?: Buffer): Crowd {
  let resets = 0;
  const sockets = Array.from({ length: CROWD }, () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("data", () => undefined);
    socket.on("error", () => {
      if (socket.bytesRead === 0) resets += 1;
    });
    if (send !== undefined) socket.write(send);
    return socket;
  });
  atEnd(t, () => {
    for (const socket of sockets) socket.destroy();
  });
  return { sockets, resets: () => resets };
}

for (const workers of ["1", "2"]) {
  for (const [what, send] of [
    ["that send nothing", undefined],
    ["that were answered and are kept alive", CHAT],
  ] as const) {
    test(`${CROWD} idle connections ${what}, ${LIMIT} descriptors, workers: ${workers}`, async (t) => {
      const upstream = await scriptedUpstream(t);
      const gateway = await startLimited(t, workers, upstream.url);
      assert.match(gateway.log(), /"subject":"descriptors","problem":"a process of this user can open 256 files, but/);
      const held = crowd(t, gateway.port, send);
      await eventually("all connected", () => held.sockets.every(({ connecting }) => !connecting));
      for (let request = 0; request < 20; request += 1) {
        const { status, body } = await exchange(t, gateway.port, CHAT);
        if (status !== 200) assert.match(`${status} ${body}`, /^503 .*no file descriptors? left/);
      }
      await eventually("service again", async () => (await exchange(t, gateway.port, CHAT)).status === 200);
      assert.equal(held.resets(), 0);
      assert.match(gateway.log(), /file descriptors? (are running out|left)/);
      assert.doesNotMatch(gateway.log(), /failed to accept/);
    });
  }
}
