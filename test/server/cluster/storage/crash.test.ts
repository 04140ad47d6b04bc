/** A writer that is killed repeatedly: acknowledged writes are there, and no directory is refused. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { childArgs } from "../../../support/child-program.ts";
import { bootstrap, contents, damage, entries, makeDir, open, refusal, writeLog } from "./fixtures.ts";

const ROUNDS = 6;

function startWriter(t: TestContext, dir: string, round: number): ChildProcess {
  const child = spawn(process.execPath, [...childArgs("./write-storage.ts", import.meta.url), dir, String(round)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

/** Kills after `lines` reports; returns the last complete one. */
async function writeUntilKilled(t: TestContext, dir: string, round: number, lines: number) {
  const child = startWriter(t, dir, round);
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    if (text.split("\n").length > lines) child.kill("SIGKILL");
  });
  await once(child, "close");
  const last = text.slice(0, text.lastIndexOf("\n")).split("\n").at(-1) ?? "";
  const [term = 0, index = 0] = last.split(" ").map(Number);
  assert.ok(term === round + 2, `the writer of round ${round} ended by itself: ${text.slice(-200)}`);
  return { term, index };
}

test("every acknowledged write survives its process, and the directory is never refused", async (t) => {
  const dir = makeDir(t);
  const storage = await open(t, dir);
  await bootstrap(storage);
  await storage.close();
  for (let round = 0; round < ROUNDS; round++) {
    const { term, index } = await writeUntilKilled(t, dir, round, 5 + round * 37);
    const again = await open(t, dir);
    const { hardState } = again.log.initialState();
    assert.deepEqual([hardState.term, hardState.vote], [term, "a"]);
    assert.ok(again.log.lastIndex() >= index, `round ${round}: ${again.log.lastIndex()} of ${index}`);
    for (const line of contents(again)) {
      const [, at, entryTerm, data] = /^(\d+)\/(\d+) (.*)$/.exec(line) ?? [];
      assert.ok(data?.startsWith(`${entryTerm}:${at}:`), line.slice(0, 80));
    }
    await again.close();
  }
});

test("a batch interrupted by a crash loses nothing, whichever of log and guard file was written first", async (t) => {
  const dir = makeDir(t);
  await writeLog(dir, 5);
  const guardBefore = readFileSync(join(dir, "raft-guard"));
  const databaseBefore = makeDir(t);
  cpSync(join(dir, "raft"), databaseBefore, { recursive: true });
  const storage = await open(t, dir);
  await storage.log.append({ entries: entries(4, 9, 3), hardState: { term: 3, vote: "b", commit: 1 }, sync: true });
  await storage.close();
  // The log was written and the guard was not: the guard names an entry that has been replaced.
  const guardAfter = readFileSync(join(dir, "raft-guard"));
  writeFileSync(join(dir, "raft-guard"), guardBefore);
  const ahead = await open(t, dir);
  assert.equal(ahead.log.lastIndex(), 9);
  await ahead.close();
  // The guard is written only after the log, so the other order means that the log was put back.
  writeFileSync(join(dir, "raft-guard"), guardAfter);
  const old = makeDir(t);
  cpSync(dir, old, { recursive: true });
  cpSync(databaseBefore, join(old, "raft"), { recursive: true, force: true });
  await assert.rejects(open(t, old), refusal("forgot", /term is 2, but term 3 had been reached/));
});

test("a guard file slot torn by a power failure leaves the other slot", async (t) => {
  const dir = makeDir(t);
  await writeLog(dir, 5);
  const guard = join(dir, "raft-guard");
  const serials = [0, 4096].map((at) => readFileSync(guard).readBigUInt64BE(at + 8));
  const newest = (serials[0] ?? 0n) > (serials[1] ?? 0n) ? 0 : 4096;
  damage(guard, (bytes) => bytes.fill(0, newest + 100, newest + 4096));
  const storage = await open(t, dir);
  assert.equal(storage.log.lastIndex(), 5);
  await storage.log.append({ entries: entries(6, 6, 2), hardState: undefined, sync: true });
  await storage.close();
  await open(t, dir);
});

test("a directory whose creation was interrupted at any step is completed by the next start", async (t) => {
  const dir = makeDir(t);
  const whole = await open(t, dir);
  await whole.close();
  // Without its guard file, which is the last step of a creation.
  const { rmSync } = await import("node:fs");
  rmSync(join(dir, "raft-guard"));
  const storage = await open(t, dir);
  await bootstrap(storage);
  await storage.close();
  assert.ok(existsSync(join(dir, "raft-guard")));
  assert.equal((await open(t, dir)).log.isBlank, false);
});
