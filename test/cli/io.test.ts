/** The process as an `Io`: signals, closed output pipes, complete output. Runs in a process of its own. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";

/** Runs `body` with `io` and `leave`; it resolves its own imports. */
function child(body: string): ChildProcess {
  const program = `
    import { processIo } from "./src/cli/process-io.ts";
    const leave = (status) => process.exit(status);
    const io = processIo(() => leave(130));
    const aborted = new Promise((done) => io.signal.addEventListener("abort", () => done(io.signal.reason.by)));
    const stayAlive = setInterval(() => {}, 1_000);
    ${body}`;
  const args = ["--import", "tsx", "--input-type=module", "--eval", program];
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
}

async function ended(of: ChildProcess): Promise<{ status: number | null; out: string; err: string }> {
  let out = "";
  let err = "";
  of.stdout?.on("data", (bytes) => {
    out += String(bytes);
  });
  of.stderr?.on("data", (bytes) => {
    err += String(bytes);
  });
  const [status] = await once(of, "close");
  return { status, out, err };
}

test("the first signal asks the verb to stop and leaves the rest to it", async () => {
  const it = child(`io.stdout.write("ready\\n"); const by = await aborted; io.stderr.write(by); leave(0);`);
  it.stdout?.once("data", () => it.kill("SIGTERM"));
  const { status, err } = await ended(it);
  assert.equal(err, "SIGTERM");
  assert.equal(status, 0);
});

test("the second signal ends the process at once", async () => {
  const it = child(`io.stdout.write("ready\\n"); await aborted; io.stderr.write("stopping");`);
  it.stdout?.once("data", () => it.kill("SIGINT"));
  it.stderr?.once("data", () => it.kill("SIGINT"));
  const { status, err } = await ended(it);
  assert.equal(err, "stopping");
  assert.equal(status, 130);
});

test("a verb whose output pipe closed is asked to stop", async () => {
  const it = child(`
    io.stderr.write("ready");
    const line = setInterval(() => io.stdout.write("x".repeat(1_000)), 1);
    const by = await aborted;
    clearInterval(line);
    await io.flush();
    io.stderr.write(", " + by);
    leave(1);`);
  it.stderr?.once("data", () => it.stdout?.destroy());
  const { status, err } = await ended(it);
  assert.equal(err, "ready, closed stdout");
  assert.equal(status, 1);
});

test("all output is written before the process ends", async () => {
  const it = child(`io.stdout.write("x".repeat(3_000_000) + "."); await io.flush(); leave(0);`);
  const { status, out } = await ended(it);
  assert.equal(out.length, 3_000_001);
  assert.equal(status, 0);
});

test("unread output does not keep a verb from ending at a signal", async () => {
  const it = child(`
    io.stdout.write("x".repeat(3_000_000));
    io.stderr.write("written");
    const status = await io.flush().then(() => (io.signal.aborted ? 130 : 0));
    leave(status);`);
  it.stderr?.once("data", () => it.kill("SIGTERM"));
  const [status] = await once(it, "exit");
  assert.equal(status, 130);
});
