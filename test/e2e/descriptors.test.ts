/** A process that has no descriptor left: it does not end, and accepts again when there are some. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { after, test } from "node:test";
import { startWithFlags } from "./support/gateway.ts";
import { exchange, post, rawClient } from "./support/raw.ts";
import { reply, scriptedUpstream } from "./support/upstream.ts";
import { eventually } from "./support/wait.ts";

const hasPrlimit = spawnSync("prlimit", ["--version"]).status === 0;
const CHAT = post("/v1/chat/completions", '{"model":"sound"}');

test("connections beyond the limit of descriptors leave the gateway alive", {
  skip: hasPrlimit ? false : "prlimit is not installed",
}, async () => {
  const file = { after };
  const upstream = await scriptedUpstream(file);
  upstream.script = (socket) => reply(socket, { headers: ["Content-Type: application/json", "Connection: close"] });
  const gateway = await startWithFlags(file, { upstream: upstream.url });
  assert.equal((await exchange(file, gateway.port, CHAT)).status, 200);

  const early = await rawClient(file, gateway.port);
  const open = (): number => readdirSync(`/proc/${gateway.pid}/fd`).length;
  const limit = open() + 10;
  assert.equal(spawnSync("prlimit", [`--nofile=${limit}:${limit}`, `--pid=${gateway.pid}`]).status, 0);
  const sockets = Array.from({ length: 60 }, () => connect(gateway.port, "127.0.0.1").on("error", () => undefined));
  await eventually("every descriptor in use", () => (open() >= limit - 1 ? true : undefined));
  // Who is connected already is told whose fault it is.
  early.send(CHAT);
  const { status, body } = await early.answer();
  assert.equal(status, 502);
  assert.match(body.toString(), /no file descriptors left, see `ulimit -n`/);
  for (const socket of sockets) socket.destroy();
  await eventually("descriptors free again", () => (open() < limit - 5 ? true : undefined));
  assert.equal((await exchange(file, gateway.port, CHAT)).status, 200);
});
