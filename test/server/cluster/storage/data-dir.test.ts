/** The data directory on a real disk, with real second processes, and damage to its files. */

import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ClassicLevel } from "classic-level";
import { openStorage } from "../../../../src/server/cluster/storage/index.ts";
import { childProgram } from "../../../support/child-program.ts";
import { makeDir, refusal } from "./fixtures.ts";

async function initialise(dir: string, nodeId = "a"): Promise<void> {
  await (await openStorage({ dir, nodeId })).close();
}

/** Changes the closed database outside the gateway. */
async function tamper(dir: string, change: (database: ClassicLevel) => Promise<void>): Promise<void> {
  const database = new ClassicLevel(join(dir, "raft"), { createIfMissing: false });
  await database.open();
  await change(database);
  await database.close();
}

interface Holder {
  readonly child: ChildProcess;
  readonly outcome: { readonly kind: string; readonly code?: string; readonly message?: string };
}

async function holdInSecondProcess(t: TestContext, dir: string): Promise<Holder> {
  const { path, options } = childProgram("./hold-storage.ts", import.meta.url);
  const child = fork(path, [dir, "a"], { execArgv: [...options] });
  t.after(() => child.kill("SIGKILL"));
  const [outcome] = (await once(child, "message")) as [Holder["outcome"]];
  return { child, outcome };
}

test("a directory is created with its parents for the owner alone, and can be opened again", async (t) => {
  const dir = join(makeDir(t), "var", "lib", "gateway");
  const first = await openStorage({ dir, nodeId: "a" });
  assert.equal(first.path, dir);
  assert.deepEqual(first.warnings, []);
  await first.close();
  await first.close();
  for (const each of [dir, join(dir, ".."), join(dir, "..", "..")]) assert.equal(statSync(each).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(dir), ["raft", "raft-guard", "state-1"]);
  await initialise(dir);
});

test("the format version and the node id are stored where the layout says", async (t) => {
  const dir = makeDir(t);
  await initialise(dir, "node-1");
  await tamper(dir, async (database) => {
    assert.deepEqual(await database.getMany(["m/format", "m/node"]), ["2", "node-1"]);
  });
});

test("a world-readable or world-writable directory is opened with a warning", async (t) => {
  const dir = makeDir(t);
  for (const [mode, warning] of [
    [0o777, /can write to the data directory .* \(mode 0777\): set it to 0700/],
    [0o755, /can read the data directory .* \(mode 0755\): set it to 0700/],
  ] as const) {
    chmodSync(dir, mode);
    const { warnings, close } = await openStorage({ dir, nodeId: "a" });
    await close();
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] as string, warning);
    assert.equal(statSync(dir).mode & 0o777, mode);
  }
});

test("a directory open in this process is refused as locked, and free after closing", async (t) => {
  const dir = makeDir(t);
  const first = await openStorage({ dir, nodeId: "a" });
  await assert.rejects(
    openStorage({ dir, nodeId: "a" }),
    refusal("locked", /is in use by another process: stop that process/),
  );
  await first.close();
  await initialise(dir);
});

test("a directory open in another process is refused as locked until that process dies", async (t) => {
  const dir = makeDir(t);
  const { child, outcome } = await holdInSecondProcess(t, dir);
  assert.equal(outcome.kind, "opened", outcome.message);
  await assert.rejects(openStorage({ dir, nodeId: "a" }), refusal("locked", /in use by another process/));
  child.kill("SIGKILL");
  await once(child, "exit");
  await initialise(dir);
});

test("another process is refused while this one has the directory open", async (t) => {
  const dir = makeDir(t);
  const first = await openStorage({ dir, nodeId: "a" });
  const { outcome } = await holdInSecondProcess(t, dir);
  await first.close();
  assert.equal(outcome.kind, "refused");
  assert.equal(outcome.code, "locked");
});

test("when several processes create the same directory, one gets it and the others find it locked", async (t) => {
  const dir = join(makeDir(t), "new");
  const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => openStorage({ dir, nodeId: "a" })));
  const opened = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  for (const each of opened) await each.close();
  for (const each of refused) refusal("locked", /in use/)(each);
  assert.equal(opened.length, 1);
  await initialise(dir);
  assert.deepEqual(readdirSync(dir), ["raft", "raft-guard", "state-1"]);
});

test("a directory written by a newer version is refused with both versions", async (t) => {
  const dir = makeDir(t);
  await initialise(dir);
  await tamper(dir, (database) => database.put("m/format", "7"));
  await assert.rejects(
    openStorage({ dir, nodeId: "a" }),
    refusal("newer_format", /written by a newer version \(format 7, this one reads 2\): upgrade/),
  );
});

test("a directory of another node is refused with both names, but a newer format is reported first", async (t) => {
  const dir = makeDir(t);
  await initialise(dir, "a");
  await assert.rejects(openStorage({ dir, nodeId: "b" }), refusal("wrong_node", /belongs to node "a", this is "b"/));
  await tamper(dir, (database) => database.put("m/format", "3"));
  await assert.rejects(openStorage({ dir, nodeId: "b" }), refusal("newer_format", /format 3/));
});

test("a refused directory is not left locked", async (t) => {
  const dir = makeDir(t);
  await initialise(dir, "a");
  await assert.rejects(openStorage({ dir, nodeId: "b" }));
  await initialise(dir, "a");
});

test("a path that passes through a file is not writable", async (t) => {
  const dir = makeDir(t);
  writeFileSync(join(dir, "file"), "");
  for (const path of [join(dir, "file"), join(dir, "file", "inner")]) {
    await assert.rejects(
      openStorage({ dir: path, nodeId: "a" }),
      refusal("unwritable", /check that the path is a dir/),
    );
  }
});

test("a database without its format version or node id is damaged", async (t) => {
  for (const [key, value, message] of [
    ["m/format", undefined, /format version is missing/],
    ["m/format", "one", /format version is missing/],
    ["m/node", undefined, /node id is missing/],
  ] as const) {
    const dir = makeDir(t);
    await initialise(dir);
    await tamper(dir, (database) => (value === undefined ? database.del(key) : database.put(key, value)));
    await assert.rejects(openStorage({ dir, nodeId: "a" }), refusal("damaged", message));
  }
});

test("a database without its CURRENT file is damaged and is not recreated over the old one", async (t) => {
  const dir = makeDir(t);
  await initialise(dir);
  rmSync(join(dir, "raft", "CURRENT"));
  for (let attempt = 0; attempt < 2; attempt++) {
    await assert.rejects(
      openStorage({ dir, nodeId: "a" }),
      refusal("damaged", /Do not use it again: move it away and start this node with an empty one that joins/),
    );
  }
  assert.equal(existsSync(join(dir, "raft", "CURRENT")), false);
});

test("a database whose directory was emptied is damaged", async (t) => {
  const dir = makeDir(t);
  await initialise(dir);
  rmSync(join(dir, "raft"), { recursive: true });
  mkdirSync(join(dir, "raft"));
  await assert.rejects(
    openStorage({ dir, nodeId: "a" }),
    refusal("damaged", /Do not use it again: move it away and start this node with an empty one that joins/),
  );
});

test("a corrupted manifest is damage", async (t) => {
  const dir = makeDir(t);
  await initialise(dir);
  writeFileSync(join(dir, "raft", "CURRENT"), "");
  await assert.rejects(
    openStorage({ dir, nodeId: "a" }),
    refusal("damaged", /Do not use it again: move it away and start this node with an empty one that joins/),
  );
});

test("records that LevelDB drops silently are damage", async (t) => {
  const dir = makeDir(t);
  await initialise(dir);
  await tamper(dir, async (database) => {
    for (let i = 0; i < 200; i++) await database.put(`l${i}`, "x".repeat(1_000));
  });
  const logName = readdirSync(join(dir, "raft")).find((name) => name.endsWith(".log")) as string;
  const log = readFileSync(join(dir, "raft", logName));
  log[100_000] = (log[100_000] as number) ^ 0xff;
  writeFileSync(join(dir, "raft", logName), log);
  await assert.rejects(openStorage({ dir, nodeId: "a" }), refusal("damaged", /lost records: .*dropping/));
});

test("leftovers of a process that ended during creation do not block, and are removed", async (t) => {
  const dir = makeDir(t);
  mkdirSync(join(dir, "raft.new-aBc123"));
  writeFileSync(join(dir, "raft.new-aBc123", "CURRENT"), "MANIFEST-000009\n");
  await initialise(dir);
  assert.deepEqual(readdirSync(dir), ["raft", "raft-guard", "state-1"]);
});

test("an aborted signal opens nothing", async (t) => {
  const dir = join(makeDir(t), "new");
  await assert.rejects(openStorage({ dir, nodeId: "a", signal: AbortSignal.abort() }), { name: "AbortError" });
  assert.equal(existsSync(dir), false);
});
