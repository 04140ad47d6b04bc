import assert from "node:assert/strict";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { Interrupted, type Io } from "../../../src/cli/process-io.ts";
import { run } from "../../../src/cli/verbs/simulate.ts";

const OPTIONS = {
  listen: "127.0.0.1:0",
  requireKey: undefined,
  requireSignature: undefined,
  adminKey: undefined,
  faults: false,
} as const;

function buffers(env: Io["env"] = {}) {
  const stop = new AbortController();
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const io: Io = {
    stdin: Readable.from([]),
    stdout,
    stderr,
    env,
    cwd: "/",
    isTerminal: () => false,
    columns: () => undefined,
    now: () => 0,
    signal: stop.signal,
    watchReader: () => undefined,
  };
  return { io, stdout, stderr, stop: () => stop.abort(new Interrupted("SIGTERM")) };
}

test("simulate prints its URL, serves until it is interrupted, and exits with 0", async () => {
  const { io, stdout, stderr, stop } = buffers({ GATEWAY_LOG: "debug" });
  const status = run(OPTIONS, [], io);
  const [line] = await stdout.take(1).toArray();
  const url = String(line).trim();
  const response = await fetch(`${url}/v1/models/sim-404`);
  assert.equal(response.status, 404);
  await response.text();
  stop();
  assert.equal(await status, 0);
  await assert.rejects(fetch(url));
  stderr.end();
  assert.match(await text(stderr), /GET \/v1\/models\/sim-404 "sim-404" 404/);
});

test("an invalid address is a usage error", async () => {
  await assert.rejects(run({ ...OPTIONS, listen: "nowhere" }, [], buffers().io), { name: "UsageError" });
});

test("a required key is required for models, servers and agents", async () => {
  const { io, stdout, stop } = buffers();
  const status = run({ ...OPTIONS, requireKey: "the-key" }, [], io);
  const [line] = await stdout.take(1).toArray();
  for (const path of ["/v1/models", "/mcp", "/a2a"]) {
    assert.equal((await fetch(String(line).trim() + path)).status, 401, path);
  }
  stop();
  assert.equal(await status, 0);
});

test("-faults prints the names of all faults and exits", async () => {
  const { io, stdout } = buffers();
  assert.equal(await run({ ...OPTIONS, faults: true }, [], io), 0);
  stdout.end();
  const printed = await text(stdout);
  for (const name of ["sim-drop-mid-stream", "sim-odd-crlf", "sim-old-session", "sim-tampered"]) {
    assert.match(printed, new RegExp(`^ {2}${name} `, "m"));
  }
});

test("a required signature uses a key pair: an id and a secret", async () => {
  const refused = run({ ...OPTIONS, requireSignature: "AKIDEXAMPLE" }, [], buffers().io);
  await assert.rejects(refused, { name: "UsageError", message: "-require-signature: expected ID:SECRET" });
  const { io, stdout, stop } = buffers();
  const status = run({ ...OPTIONS, requireSignature: "AKIDEXAMPLE:a:secret" }, [], io);
  const [line] = await stdout.take(1).toArray();
  const response = await fetch(`${String(line).trim()}/v1/models`);
  assert.equal(response.status, 403);
  assert.match(String(response.headers.get("x-amzn-errortype")), /^MissingAuthenticationTokenException:/);
  stop();
  assert.equal(await status, 0);
});
