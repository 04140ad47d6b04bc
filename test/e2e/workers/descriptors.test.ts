/** Processes without free descriptors: none ends, and all serve again once there are some. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { test } from "node:test";
import { startWithFiles } from "../support/config.ts";
import { idle } from "../support/metrics.ts";
import { exchange, post } from "../support/raw.ts";
import { reply, scriptedUpstream } from "../support/upstream.ts";
import { atEnd, eventually } from "../support/wait.ts";
import { allServe } from "./support/workers.ts";

const hasPrlimit = spawnSync("prlimit", ["--version"]).status === 0;
const CHAT = "/v1/chat/completions";
/** Descriptors of each worker beyond those open when idle. */
const SPARE = 6;

test("connections without a free descriptor wait, and the process serves again when it has one", {
  skip: hasPrlimit ? false : "prlimit is not installed",
}, async (t) => {
  const upstream = await scriptedUpstream(t);
  const gateway = await startWithFiles(t, {
    providers: [{ name: "only", dialect: "compat", base_url: `${upstream.url}/v1` }],
    default_provider: "only",
  });
  const workers = await allServe(gateway, 2);
  const open = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
  for (const { pid } of workers) {
    const limit = open(pid) + SPARE;
    assert.equal(spawnSync("prlimit", [`--nofile=${limit}:${limit}`, `--pid=${pid}`]).status, 0);
  }
  upstream.script = () => undefined;
  const held = Array.from({ length: 40 }, () => {
    const socket = connect(gateway.port, "127.0.0.1").on("error", () => undefined);
    socket.write(post(CHAT, '{"model":"held"}'));
    return socket;
  });
  t.after(() => {
    for (const socket of held) socket.destroy();
  });
  const isFull = ({ message }: { readonly message: string }): boolean =>
    /file descriptors? (are running out|left)/.test(message);
  await eventually("word of it", () => gateway.log().some(isFull));
  upstream.script = (socket) => reply(socket);
  // It waits like the earlier ones, or is refused with an error; none is reset.
  const waiting = exchange(t, gateway.port, post(CHAT, '{"model":"sound"}'));
  for (const socket of held) socket.destroy();
  assert.ok([200, 503].includes((await waiting).status));
  await eventually(
    "service again",
    async () => (await exchange(t, gateway.port, post(CHAT, '{"model":"sound"}'))).status === 200,
  );
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => exchange(t, gateway.port, post(CHAT, '{"model":"sound"}'))),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.deepEqual(await allServe(gateway, 2), workers);
  await idle(gateway);
});

test("a worker that cannot be replaced without a free descriptor is replaced once there is one", {
  skip: hasPrlimit ? false : "prlimit is not installed",
}, async (t) => {
  const upstream = await scriptedUpstream(t);
  upstream.script = (socket) => reply(socket);
  const gateway = await startWithFiles(t, {
    providers: [{ name: "only", dialect: "compat", base_url: `${upstream.url}/v1` }],
    default_provider: "only",
  });
  const [killed, other] = await allServe(gateway, 2);
  assert.ok(killed !== undefined && other !== undefined);
  const { pid: node } = gateway;
  const limit = (soft: string): void => {
    assert.equal(spawnSync("prlimit", [`--nofile=${soft}:`, `--pid=${node}`]).status, 0);
  };
  const [, soft = ""] = /^Max open files +(\d+)/m.exec(readFileSync(`/proc/${node}/limits`, "utf8")) ?? [];
  // The process needs several descriptors for the pipes of another.
  limit(`${readdirSync(`/proc/${node}/fd`).length}`);
  process.kill(killed.pid, "SIGKILL");
  const isRetried = ({ message, ...fields }: { readonly message: string }): boolean =>
    message === "a worker could not be replaced; this will be retried" &&
    JSON.stringify(fields).includes("could not be started: spawn");
  await eventually("word of it", () => gateway.log().some(isRetried));
  assert.match(gateway.stderr(), /EMFILE; raise `ulimit -n`/);
  limit(soft);
  const workers = await allServe(gateway, 2);
  assert.deepEqual(
    workers.filter(({ pid }) => pid === other.pid),
    [other],
  );
  assert.equal((await exchange(t, gateway.port, post(CHAT, '{"model":"sound"}'))).status, 200);
  await idle(gateway);
});

test("a connection that arrives while the node process has no free descriptor is refused with the reason", {
  skip: hasPrlimit ? false : "prlimit is not installed",
}, async (t) => {
  const upstream = await scriptedUpstream(t);
  upstream.script = (socket) => reply(socket);
  const gateway = await startWithFiles(t, {
    providers: [{ name: "only", dialect: "compat", base_url: `${upstream.url}/v1` }],
    default_provider: "only",
  });
  const workers = await allServe(gateway, 2);
  // Workers that are stopped take no connection, so the node process holds all of them.
  for (const { pid } of workers) process.kill(pid, "SIGSTOP");
  atEnd(t, () => {
    for (const { pid } of workers) process.kill(pid, "SIGCONT");
  });
  const limit = readdirSync(`/proc/${gateway.pid}/fd`).length + SPARE;
  assert.equal(spawnSync("prlimit", [`--nofile=${limit}:`, `--pid=${gateway.pid}`]).status, 0);
  const request = post(CHAT, '{"model":"sound"}');
  const answers = Array.from({ length: 3 * SPARE }, () => exchange(t, gateway.port, request));
  const first = await Promise.race(answers);
  assert.match(`${first.status} ${first.body}`, /^503 .*no file descriptor left for this connection/);
  const isReported = ({ message, ...fields }: { readonly message: string }): boolean =>
    message === "connections are refused before a worker process takes them" &&
    JSON.stringify(fields).includes("no file descriptors left; raise `ulimit -n`");
  await eventually("a log line about it", () => gateway.log().some(isReported));
  for (const { pid } of workers) process.kill(pid, "SIGCONT");
  const statuses = new Set((await Promise.all(answers)).map(({ status }) => status));
  assert.deepEqual([...statuses].sort(), [200, 503]);
  await eventually("service again", async () => (await exchange(t, gateway.port, request)).status === 200);
});
