import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { Interrupted } from "../../../src/cli/process-io.ts";
import { SignInError } from "../../../src/cli/sign-in/sign-in-errors.ts";
import { acquireLock, STALE_MS, withLock } from "../../../src/cli/sign-in/sign-in-lock.ts";
import type { Owner } from "../../e2e/support/wait.ts";
import { makeHome } from "./temporary-home.ts";

function lockPath(owner: Owner): { readonly path: string; readonly directory: string } {
  const { directory } = makeHome(owner);
  mkdirSync(directory);
  return { path: join(directory, "sign-in.lock"), directory };
}

test("one process holds the lock at a time, and leaves nothing behind", async (t) => {
  const { path, directory } = lockPath(t);
  const io = makeHome(t).io();
  let inside = 0;
  const turns = Array.from({ length: 8 }, () =>
    withLock(path, io, async () => {
      inside += 1;
      assert.equal(inside, 1);
      await new Promise((done) => setImmediate(done));
      inside -= 1;
    }),
  );
  await Promise.all(turns);
  assert.deepEqual(readdirSync(directory), []);
});

test("the lock is released if the work fails", async (t) => {
  const { path } = lockPath(t);
  await assert.rejects(
    withLock(path, makeHome(t).io(), () => {
      throw new Error("the work failed");
    }),
    /^Error: the work failed$/,
  );
  assert.equal(existsSync(path), false);
});

/** Returns the pid of an ended process. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "close");
  return child.pid ?? assert.fail();
}

interface Holder {
  readonly host?: string;
  readonly pid?: number;
  readonly start?: string;
  readonly at?: number;
}

function holder(over: Holder = {}): string {
  return JSON.stringify({ host: hostname(), pid: process.pid, start: "", at: Date.now(), nonce: "n", ...over });
}

test("a stale lock is taken over at once", async (t) => {
  const stale: readonly (readonly [why: string, words: string])[] = [
    ["its process is gone", holder({ pid: await deadPid() })],
    ["it is older than anybody may hold it", holder({ at: Date.now() - STALE_MS - 1 })],
    ["its time is far ahead", holder({ at: Date.now() + STALE_MS + 60_000 })],
    ...(existsSync("/proc/self/stat")
      ? [["its process's number is another's now", holder({ start: "1" })] as const]
      : []),
  ];
  for (const [why, content] of stale) {
    const { path, directory } = lockPath(t);
    writeFileSync(path, content);
    const lock = await acquireLock(path, makeHome(t).io(), 0);
    assert.equal(lock.isHeld(), true, why);
    lock.release();
    assert.deepEqual(readdirSync(directory), [], why);
  }
});

test("an empty lock is taken over once no process can be about to write it", async (t) => {
  const { path } = lockPath(t);
  writeFileSync(path, "");
  const lock = await acquireLock(path, makeHome(t).io());
  assert.equal(lock.isHeld(), true);
  lock.release();
});

test("a lock held here or on another machine is awaited and then reported", async (t) => {
  for (const content of [holder(), holder({ host: "elsewhere", pid: await deadPid() })]) {
    const { path } = lockPath(t);
    writeFileSync(path, content);
    await assert.rejects(
      acquireLock(path, makeHome(t).io(), 0),
      (error) => error instanceof SignInError && /^process \d+ is busy with this sign-in/.test(error.message),
    );
    assert.equal(readFileSync(path, "utf8"), content);
  }
});

test("waiting ends when the user interrupts", async (t) => {
  const { path } = lockPath(t);
  writeFileSync(path, holder());
  const stop = new AbortController();
  const waiting = acquireLock(path, makeHome(t).io({ signal: stop.signal }));
  stop.abort(new Interrupted("SIGINT"));
  await assert.rejects(waiting, (error) => error === stop.signal.reason || (error as Error).name === "AbortError");
});

test("a holder whose lock was taken over notices, and does not release the other's", async (t) => {
  const { path } = lockPath(t);
  const lock = await acquireLock(path, makeHome(t).io());
  writeFileSync(path, holder());
  assert.equal(lock.isHeld(), false);
  lock.release();
  assert.equal(readFileSync(path, "utf8").includes('"nonce":"n"'), true);
});

test("a process killed while removing a stale lock delays the next only briefly", async (t) => {
  const { path, directory } = lockPath(t);
  writeFileSync(path, holder({ pid: await deadPid() }));
  writeFileSync(`${path}.stale`, "");
  await assert.rejects(acquireLock(path, makeHome(t).io(), 0), SignInError);
  utimesSync(`${path}.stale`, new Date(0), new Date(0));
  const lock = await acquireLock(path, makeHome(t).io());
  lock.release();
  assert.deepEqual(readdirSync(directory), []);
});
