// tier: all
/**
 * Damage to the files of a closed directory (cluster reference, table of section 3.3). Each is refused, none is
 * repaired, and the message gives the remedy. LevelDB alone opens most of them silently.
 */

import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFileSync, cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { ClassicLevel } from "classic-level";
import { openStorage, StorageError } from "../../../../src/server/cluster/storage/index.ts";
import { digestOf } from "../../../../src/server/core/state/index.ts";
import { childProgram } from "../../../support/child-program.ts";
import { randomRuns } from "../../../support/random-length.ts";
import { bootstrap, contents, damage, entries, fileOf, makeDir, open, refusal, writeLog } from "./fixtures.ts";
import type { Found } from "./read-storage.ts";

const REMEDY = /move it away and start this node with an empty one that joins .*gateway cluster recover/;

async function refusesToStart(t: TestContext, dir: string, code: "damaged" | "forgot", message: RegExp): Promise<void> {
  await assert.rejects(open(t, dir), refusal(code, message));
  await assert.rejects(open(t, dir), refusal(code, REMEDY), "refused again: nothing was repaired by the first attempt");
}

/** Closed without the tables of a clean start, everything is in LevelDB's log file. */
const WAL = /\.log$/;

test("a truncated log file loses acknowledged entries and is refused", async (t) => {
  const dir = makeDir(t);
  await writeLog(dir, 300);
  for (const kept of [0.99, 0.5]) {
    const copy = makeDir(t);
    cpSync(dir, copy, { recursive: true });
    damage(fileOf(copy, WAL), (bytes) => bytes.subarray(0, Math.floor(bytes.length * kept)));
    await refusesToStart(t, copy, "forgot", /ends with entry \d+, and entry 300 of term 2 had been stored/);
  }
});

test("one flipped byte in the middle of a log file is refused", async (t) => {
  const dir = makeDir(t);
  await writeLog(dir, 600);
  damage(fileOf(dir, WAL), (bytes) => {
    const at = Math.floor(bytes.length / 2);
    bytes[at] = (bytes[at] ?? 0) ^ 0x01;
    return bytes;
  });
  await refusesToStart(t, dir, "damaged", /lost records: .*dropping/);
});

test("zeroing the last 3,000 bytes of a log file is refused", async (t) => {
  const dir = makeDir(t);
  await writeLog(dir, 300);
  damage(fileOf(dir, WAL), (bytes) => bytes.fill(0, bytes.length - 3_000));
  await assert.rejects(open(t, dir), (error) => error instanceof StorageError && /damaged|forgot/.test(error.code));
});

test("a deleted log file with tables present is refused", async (t) => {
  const dir = makeDir(t);
  await writeLog(dir, 100);
  const storage = await open(t, dir);
  await storage.log.append({ entries: entries(101, 120, 2), hardState: undefined, sync: true });
  await storage.close();
  rmSync(fileOf(dir, WAL));
  await refusesToStart(t, dir, "forgot", /ends with entry 100, and entry 120 of term 2/);
});

test("a deleted log file that had everything, with the state intact, is refused", async (t) => {
  const dir = makeDir(t);
  await writeLog(dir, 20);
  rmSync(fileOf(dir, WAL));
  const before = readdirSync(dir);
  await refusesToStart(t, dir, "forgot", /term is 0, but term 2 had been reached/);
  assert.deepEqual(readdirSync(dir), before);
});

test("a deleted or emptied CURRENT is refused, in either database", async (t) => {
  const dir = makeDir(t);
  await writeLog(dir, 20);
  for (const database of ["raft", "state-1"]) {
    for (const change of ["deleted", "emptied"]) {
      const copy = makeDir(t);
      cpSync(dir, copy, { recursive: true });
      const current = join(copy, database, "CURRENT");
      if (change === "deleted") rmSync(current);
      else writeFileSync(current, "");
      await refusesToStart(t, copy, "damaged", REMEDY);
    }
  }
});

/** Several tables: entries large enough for many files, and a clean start after them. */
async function withTables(t: TestContext): Promise<string> {
  const dir = makeDir(t);
  const storage = await openStorage({ dir, nodeId: "a" });
  await bootstrap(storage);
  await storage.log.append({ entries: [], hardState: { term: 2, vote: "a", commit: 1 }, sync: true });
  for (let from = 2; from < 9_002; from += 500) {
    const size = 900 + (from % 7);
    const added = entries(from, from + 499, 2).map((each) => ({ ...each, data: randomBytes(size) }));
    await storage.log.append({ entries: added, hardState: undefined, sync: true });
  }
  const rows = Array.from(
    { length: 3_000 },
    (_, at) => [`key/${10_000 + at}`, `1{"n":${at},"x":"${randomBytes(99).toString("base64")}"}`] as const,
  );
  const mutations = [{ key: "member/a", value: undefined }, ...rows.map(([key, value]) => ({ key, value }))];
  await storage.state().write(mutations, { index: 9, term: 2, now: 0 }, digestOf(rows));
  await storage.close();
  await (await openStorage({ dir, nodeId: "a" })).close();
  return dir;
}

test("a MANIFEST without its last byte, with tables present, is refused", async (t) => {
  const dir = await withTables(t);
  const copy = makeDir(t);
  cpSync(dir, copy, { recursive: true });
  damage(fileOf(copy, /^MANIFEST/), (bytes) => bytes.subarray(0, bytes.length - 1));
  await assert.rejects(open(t, copy), (error) => error instanceof StorageError && /damaged|forgot/.test(error.code));
  damage(fileOf(dir, /^MANIFEST/), (bytes) => bytes.fill(0xff, 20, 60));
  await assert.rejects(open(t, dir), (error) => error instanceof StorageError && /damaged|forgot/.test(error.code));
});

test("a missing table is refused", async (t) => {
  const dir = await withTables(t);
  rmSync(fileOf(dir, /\.ldb$/));
  await refusesToStart(t, dir, "damaged", /missing files/);
});

/** Deterministic and small (mulberry32). */
function generator(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let b = Math.imul(a ^ (a >>> 15), 1 | a);
    b = (b + Math.imul(b ^ (b >>> 7), 61 | b)) ^ b;
    return ((b ^ (b >>> 14)) >>> 0) / 2 ** 32;
  };
}

for (const database of ["raft", "state-1"] as const) {
  test(`a byte flipped anywhere in a table of ${database} is noticed or changes nothing that is read`, async (t) => {
    const seed = Number(process.env["STORAGE_SEED"] ?? Date.now() % 1_000_000);
    const dir = await withTables(t);
    const random = generator(seed);
    const reader = startReader(t);
    const expected = await reader(dir);
    assert.equal(expected.kind, "read");
    // Opening rewrites tables, so the current ones are copied.
    const table = fileOf(dir, /\.ldb$/, database);
    let refused = 0;
    const TRIALS = randomRuns(25, 8);
    for (let trial = 0; trial < TRIALS; trial++) {
      const copy = makeDir(t);
      cpSync(dir, copy, { recursive: true });
      const file = join(copy, database, basename(table));
      const at = Math.floor(random() * statSync(file).size);
      const mask = 1 << Math.floor(random() * 8);
      damage(file, (bytes) => {
        bytes[at] = (bytes[at] ?? 0) ^ mask;
        return bytes;
      });
      const found = await reader(copy);
      if (found.kind === "refused") refused += 1;
      else assert.deepEqual(found, expected, `seed ${seed}, trial ${trial}: byte ${at} mask ${mask}`);
      rmSync(copy, { recursive: true });
    }
    t.diagnostic(`seed ${seed}: ${refused} of ${TRIALS} flips in ${database} were refused`);
    assert.ok(refused > TRIALS / 2, `seed ${seed}: only ${refused} of ${TRIALS} were refused`);
  });
}

/** Opens directories in a second process; if LevelDB crashes it, the damage was noticed, and another is started. */
function startReader(t: TestContext): (dir: string) => Promise<Found> {
  const program = childProgram("./read-storage.ts", import.meta.url);
  let child: ChildProcess | undefined;
  t.after(() => child?.kill("SIGKILL"));
  return (dir) =>
    new Promise((resolve) => {
      if (child?.connected !== true) {
        child = fork(program.path, {
          execArgv: [...program.options],
          stdio: ["ignore", "ignore", "ignore", "ipc"],
        });
      }
      const onFound = (found: Found): void => {
        child?.off("exit", onExit);
        resolve(found);
      };
      const onExit = (): void => {
        child = undefined;
        resolve({ kind: "refused" });
      };
      child.once("message", onFound);
      child.once("exit", onExit);
      child.send(dir);
    });
}

test("a database replaced by an older copy is detected as forgotten", async (t) => {
  const dir = makeDir(t);
  await writeLog(dir, 10);
  const copy = makeDir(t);
  cpSync(join(dir, "raft"), join(copy, "raft"), { recursive: true });
  const storage = await open(t, dir);
  await storage.log.append({ entries: [], hardState: { term: 5, vote: "b", commit: 1 }, sync: true });
  await storage.close();
  rmSync(join(dir, "raft"), { recursive: true });
  cpSync(join(copy, "raft"), join(dir, "raft"), { recursive: true });
  await refusesToStart(t, dir, "forgot", /term is 2, but term 5 had been reached/);
});

test("a guard file that is missing, damaged or of another directory is refused", async (t) => {
  const dir = makeDir(t);
  await writeLog(dir, 10);
  const guard = join(dir, "raft-guard");
  const bytes = readFileSync(guard);
  rmSync(guard);
  await refusesToStart(t, dir, "damaged", /raft-guard is missing/);
  writeFileSync(guard, Buffer.alloc(8192, 1));
  await refusesToStart(t, dir, "damaged", /raft-guard cannot be read/);
  const other = makeDir(t);
  await writeLog(other, 10);
  copyFileSync(join(other, "raft-guard"), guard);
  await refusesToStart(t, dir, "damaged", /raft-guard belongs to another directory/);
  writeFileSync(guard, bytes);
  assert.equal(contents(await open(t, dir)).length, 9);
});

test("a log removed by hand, with the rest left, is not recreated", async (t) => {
  const dir = makeDir(t);
  await writeLog(dir, 10);
  rmSync(join(dir, "raft"), { recursive: true });
  await refusesToStart(t, dir, "damaged", /its log is missing/);
});

test("records removed, added or changed outside the gateway are detected", async (t) => {
  const key = (index: number) => {
    const bytes = Buffer.alloc(9, "l");
    bytes.writeBigUInt64BE(BigInt(index), 1);
    return bytes;
  };
  type Level = ClassicLevel<Buffer, Buffer>;
  const changes: readonly (readonly [(level: Level) => Promise<void>, RegExp])[] = [
    [(level) => level.del(key(5)), /entries 5 to 5 are missing/],
    [(level) => level.del(key(2)), /entries 2 to 2 are missing/],
    [(level) => level.del(key(10)), /the log ends with entry 9 instead of 10/],
    [async (level) => level.put(key(11), (await level.get(key(10))) ?? Buffer.alloc(0)), /entry 11 is malformed/],
    [async (level) => level.put(key(1), (await level.get(key(10))) ?? Buffer.alloc(0)), /entry 1 before the beginning/],
    [(level) => level.put(key(5), Buffer.alloc(60)), /entry 5 does not match its checksum/],
    [(level) => level.del(Buffer.from("h")), /term 0 is older than that of the log/],
    [(level) => level.del(Buffer.from("t")), /the bounds of the log are missing/],
    [(level) => level.del(Buffer.from("s")), /the log begins behind a snapshot whose record is missing/],
    [(level) => level.del(Buffer.from("g")), /its state is not named/],
    [(level) => level.del(Buffer.from("m/storage")), /its storage id is missing/],
    [(level) => level.del(Buffer.from("m/epoch")), /its recovery epoch is missing/],
  ];
  const dir = makeDir(t);
  await writeLog(dir, 10);
  for (const [change, message] of changes) {
    const copy = makeDir(t);
    cpSync(dir, copy, { recursive: true });
    const level: Level = new ClassicLevel(join(copy, "raft"), { keyEncoding: "buffer", valueEncoding: "buffer" });
    await change(level);
    await level.close();
    await assert.rejects(open(t, copy), refusal("damaged", message));
  }
});
