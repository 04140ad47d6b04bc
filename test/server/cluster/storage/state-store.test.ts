/** The state on a real disk: rows, snapshots, generations, and each place where a process can end in between. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { StateStore, Storage } from "../../../../src/server/cluster/storage/index.ts";
import { createStateDecoder, digestOf } from "../../../../src/server/core/state/index.ts";
import { bootstrap, contents, entries, makeDir, open, refusal, voters } from "./fixtures.ts";

type Row = readonly [key: string, value: string];

const signal = () => new AbortController().signal;

async function rowsOf(state: StateStore): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for await (const slice of state.load()) rows.push(...slice);
  return rows;
}

const numbered = (from: number, to: number): readonly Row[] =>
  Array.from({ length: to - from + 1 }, (_, at) => [
    `key/${String(from + at).padStart(6, "0")}`,
    `1{"n":${from + at}}`,
  ]);

const puts = (rows: readonly Row[]) => rows.map(([key, value]) => ({ key, value }));

/** A node at applied entry 10 of a log of 20, with 1,000 rows. */
async function filled(t: TestContext): Promise<{ dir: string; storage: Storage; rows: readonly Row[] }> {
  const dir = makeDir(t);
  const storage = await open(t, dir);
  await bootstrap(storage);
  await storage.log.append({ entries: entries(2, 20, 2), hardState: { term: 2, vote: "a", commit: 20 }, sync: true });
  const rows: readonly Row[] = [...numbered(1, 1_000), ["member/a", "1{}"]];
  await storage.state().write(puts(rows), { index: 10, term: 2, now: 99 }, digestOf(rows));
  return { dir, storage, rows };
}

const at10 = { index: 10, term: 2, configuration: voters("a") };

test("rows, removals and their index are one write, found again after a restart", async (t) => {
  const { dir, storage, rows } = await filled(t);
  await storage
    .state()
    .write([{ key: "key/000500", value: undefined }], { index: 11, term: 2, now: 100 }, "f".repeat(32));
  await storage.close();
  const again = await open(t, dir);
  assert.deepEqual(again.state().applied, { index: 11, term: 2, now: 100, digest: "f".repeat(32) });
  assert.deepEqual(
    await rowsOf(again.state()),
    rows.filter(([key]) => key !== "key/000500"),
  );
});

test("a second write is refused while one is running", async (t) => {
  const { storage } = await filled(t);
  const state = storage.state();
  const first = state.write([], { index: 11, term: 2, now: 0 }, "0".repeat(32));
  assert.throws(() => state.write([], { index: 12, term: 2, now: 0 }, "0".repeat(32)), /under way/);
  await assert.rejects(state.writeSnapshot(at10, signal()), /under way/);
  await first;
});

test("a snapshot file has the rows of the call, whatever is written meanwhile (bug 33)", async (t) => {
  const { storage, rows } = await filled(t);
  const state = storage.state();
  const writing = state.writeSnapshot(at10, signal());
  for (let index = 11; index <= 20; index++) {
    await state.write(
      puts(numbered(1, 1_000).map(([key]) => [key, `1 of ${index}`])),
      { index, term: 2, now: 0 },
      "0".repeat(32),
    );
  }
  const record = await writing;
  const file = storage.snapshotPath(record);
  const bytes = readFileSync(file);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(record, {
    ...at10,
    now: 99,
    rows: rows.length,
    digest: digestOf(rows),
    size: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  });
  const decoder = createStateDecoder();
  assert.deepEqual(decoder.push(bytes), rows);
  assert.deepEqual(decoder.end(), { rows: rows.length, digest: digestOf(rows) });
});

test("a snapshot whose rows do not match their digest is not made", async (t) => {
  const { dir, storage } = await filled(t);
  await storage.state().write([], { index: 11, term: 2, now: 0 }, "e".repeat(32));
  await assert.rejects(
    storage.state().writeSnapshot({ ...at10, index: 11 }, signal()),
    refusal("damaged", /do not match their digest/),
  );
  await assert.rejects(storage.state().write([], { index: 12, term: 2, now: 0 }, ""), refusal("damaged", /digest/));
  await storage.close();
  await open(t, dir);
  assert.deepEqual(
    readdirSync(dir).filter((name) => name.startsWith("snap")),
    [],
  );
});

test("an aborted snapshot leaves no file and rejects with the reason", async (t) => {
  const { dir, storage } = await filled(t);
  const abort = new AbortController();
  const writing = storage.state().writeSnapshot(at10, abort.signal);
  abort.abort(new Error("enough"));
  await assert.rejects(writing, /enough/);
  assert.deepEqual(
    readdirSync(dir).filter((name) => name.startsWith("snap")),
    [],
  );
});

test("a snapshot at another position than the state's is refused", async (t) => {
  const { storage } = await filled(t);
  await assert.rejects(storage.state().writeSnapshot({ ...at10, index: 9 }, signal()), /is at 10, not at 9/);
});

test("a process that ends between a snapshot's file and its record leaves the log unchanged and no file", async (t) => {
  const { dir, storage } = await filled(t);
  await storage.state().writeSnapshot(at10, signal());
  writeFileSync(join(dir, "snap-2-11.tmp"), "half");
  writeFileSync(join(dir, "snap-2-12.recv"), "half");
  writeFileSync(join(dir, "restore-0123456789ab.tmp"), "half");
  writeFileSync(join(dir, "audit.key"), "not ours");
  await storage.close();
  const again = await open(t, dir);
  assert.deepEqual(readdirSync(dir), ["audit.key", "raft", "raft-guard", "state-1"]);
  assert.deepEqual([again.log.snapshot().index, again.log.firstIndex(), contents(again).length], [1, 2, 19]);
});

test("a recorded snapshot whose file is missing or truncated is damage", async (t) => {
  const { dir, storage } = await filled(t);
  const record = await storage.state().writeSnapshot(at10, signal());
  await storage.log.recordSnapshot(record, 10);
  const file = storage.snapshotPath(record);
  await storage.close();
  writeFileSync(file, readFileSync(file).subarray(1));
  await assert.rejects(open(t, dir), refusal("damaged", /snap-2-10\.bin is not whole/));
  writeFileSync(file, "");
  rmSync(file);
  await assert.rejects(open(t, dir), refusal("damaged", /snap-2-10\.bin is missing/));
});

test("older snapshot files are removed, and newer ones, which may be incoming, are not", async (t) => {
  const { dir, storage } = await filled(t);
  const record = await storage.state().writeSnapshot(at10, signal());
  await storage.log.recordSnapshot(record, 1);
  for (const name of ["snap-1-9.bin", "snap-3-10.bin", "snap-3-30.bin"]) writeFileSync(join(dir, name), "");
  await storage.removeOldSnapshots();
  assert.deepEqual(
    readdirSync(dir).filter((name) => name.startsWith("snap")),
    ["snap-2-10.bin", "snap-3-30.bin"],
  );
});

test("a generation has no effect until it becomes the active one", async (t) => {
  const { dir, storage, rows } = await filled(t);
  const half = await storage.build();
  await half.add(numbered(1, 10));
  const whole = await storage.build();
  await whole.add(numbered(1, 10));
  await whole.finish({ index: 12, term: 2, now: 0 }, digestOf(numbered(1, 10)));
  assert.deepEqual(readdirSync(dir), ["raft", "raft-guard", "state-1", "state-2", "state-3"]);
  assert.equal(statSync(join(dir, "state-2")).mode & 0o777, 0o700);
  await half.abandon();
  assert.equal(existsSync(join(dir, "state-2")), false);
  await storage.close();
  const again = await open(t, dir);
  assert.deepEqual(readdirSync(dir), ["raft", "raft-guard", "state-1"]);
  assert.deepEqual(await rowsOf(again.state()), rows);
});

test("an adopted generation replaces the rows and keeps the log, also if the process ends right then", async (t) => {
  for (const isClean of [true, false]) {
    const { dir, storage } = await filled(t);
    const build = await storage.build();
    await build.add(numbered(1, 10));
    await build.finish({ index: 12, term: 2, now: 7 }, digestOf(numbered(1, 10)));
    await storage.adopt(build.generation);
    if (isClean) {
      assert.equal((await storage.reopenState()).generation, 2);
      assert.equal(existsSync(join(dir, "state-1")), false);
    }
    await storage.close();
    const again = await open(t, dir);
    assert.deepEqual(await rowsOf(again.state()), numbered(1, 10));
    assert.equal(again.state().applied.index, 12);
    assert.deepEqual([again.log.firstIndex(), again.log.lastIndex()], [2, 20]);
    assert.deepEqual(readdirSync(dir), ["raft", "raft-guard", "state-2"]);
  }
});

test("an installed snapshot replaces log and rows in one step; before it, nothing has changed (bug 34)", async (t) => {
  const source = await filled(t);
  const record = await source.storage.state().writeSnapshot(at10, signal());
  const bytes = readFileSync(source.storage.snapshotPath(record));
  for (const step of ["received", "built", "installed", "reopened"] as const) {
    const dir = makeDir(t);
    const storage = await open(t, dir, "b");
    await storage.log.append({ entries: [], hardState: { term: 1, vote: undefined, commit: 0 }, sync: true });
    await storage.log.append({ entries: entries(1, 5, 1), hardState: undefined, sync: true });
    writeFileSync(storage.snapshotPath(record), bytes, { mode: 0o600 });
    if (step !== "received") {
      const build = await storage.build();
      await build.add(createStateDecoder().push(bytes));
      await build.finish(record, record.digest);
      if (step !== "built") {
        await storage.log.install(record, { term: 2, vote: undefined, commit: 10 }, build.generation);
        if (step === "reopened") await storage.reopenState();
      }
    }
    await storage.close();
    const { log, state } = await open(t, dir, "b");
    if (step === "received" || step === "built") {
      assert.deepEqual([log.lastIndex(), log.snapshotRecord, state().applied.index], [5, undefined, 0], step);
      assert.deepEqual(readdirSync(dir), ["raft", "raft-guard", "state-1"]);
    } else {
      assert.deepEqual([log.firstIndex(), log.lastIndex(), log.term(10), state().applied.index], [11, 10, 2, 10], step);
      assert.deepEqual(log.initialState().configuration, voters("a"));
      assert.deepEqual(await rowsOf(state()), source.rows);
      assert.deepEqual(readdirSync(dir), ["raft", "raft-guard", "snap-2-10.bin", "state-2"]);
      await log.append({ entries: entries(11, 12, 2), hardState: undefined, sync: true });
      assert.equal(log.lastIndex(), 12);
    }
  }
});

test("a state ahead of its log or behind the start of its log is damage", async (t) => {
  const { dir, storage } = await filled(t);
  await storage.state().write([], { index: 21, term: 2, now: 0 }, "0".repeat(32));
  await storage.close();
  await assert.rejects(open(t, dir), refusal("damaged", /state is of entry 21, and its log ends with entry 20/));

  const other = await filled(t);
  await other.storage.log.recordSnapshot(await other.storage.state().writeSnapshot(at10, signal()), 10);
  const build = await other.storage.build();
  await build.finish({ index: 5, term: 2, now: 0 }, "0".repeat(32));
  await other.storage.adopt(build.generation);
  await other.storage.close();
  await assert.rejects(open(t, other.dir), refusal("damaged", /of entry 5, and its log begins behind entry 10/));
});

test("a state at an entry that the log does not have is damage", async (t) => {
  const { dir, storage } = await filled(t);
  await storage.state().write([], { index: 12, term: 1, now: 0 }, "0".repeat(32));
  await storage.close();
  await assert.rejects(open(t, dir), refusal("damaged", /of an entry 12 of term 1, its log has one of term 2/));
});

test("a directory without its named generation is damage", async (t) => {
  const { dir, storage } = await filled(t);
  await storage.close();
  rmSync(join(dir, "state-1"), { recursive: true });
  for (let attempt = 0; attempt < 2; attempt++) await assert.rejects(open(t, dir), refusal("damaged", /Do not use it/));
  assert.equal(existsSync(join(dir, "state-1", "CURRENT")), false);
});

test("files and directories are for the owner alone, even in a directory that is not", async (t) => {
  const dir = makeDir(t);
  chmodSync(dir, 0o755);
  const storage = await open(t, dir);
  await bootstrap(storage);
  const mode = (name: string) => (statSync(join(dir, name)).mode & 0o777).toString(8);
  assert.deepEqual(["raft", "state-1", "raft-guard"].map(mode), ["700", "700", "600"]);
});
