/** Shared by the storage tests: temporary directories, written logs, refusals. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  openStorage,
  type Storage,
  StorageError,
  type StorageErrorCode,
} from "../../../../src/server/cluster/storage/index.ts";
import type { Configuration, Entry } from "../../../../src/server/core/raft/index.ts";
import { digestOf } from "../../../../src/server/core/state/index.ts";

export function makeDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), "gateway-data-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export function refusal(code: StorageErrorCode, message: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StorageError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  };
}

export function voters(...ids: readonly string[]): Configuration {
  return { voters: ids, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
}

export function entry(index: number, term: number, data: string | Uint8Array = `entry ${index} of ${term}`): Entry {
  return { index, term, kind: "normal", data: Buffer.from(data) };
}

export function entries(from: number, to: number, term: number, size?: number): readonly Entry[] {
  return Array.from({ length: to - from + 1 }, (_, at) =>
    entry(from + at, term, size === undefined ? undefined : Buffer.alloc(size, from + at)),
  );
}

/** Like the replica: the first rows, then the first configuration. */
export async function bootstrap(storage: Storage, configuration: Configuration = voters("a")): Promise<void> {
  const rows = [["member/a", "1{}"]] as const;
  await storage.state().write([{ key: "member/a", value: "1{}" }], { index: 1, term: 1, now: 0 }, digestOf(rows));
  await storage.log.bootstrap(configuration);
}

/** Opens it for the test and closes it afterwards in any case. */
export async function open(t: TestContext, dir: string, nodeId = "a"): Promise<Storage> {
  const storage = await openStorage({ dir, nodeId });
  t.after(() => storage.close().catch(() => undefined));
  return storage;
}

/** A closed directory of a node that voted in term 2 and has entries 2 to `last`, written one batch each. */
export async function writeLog(dir: string, last: number, size = 200): Promise<void> {
  const storage = await openStorage({ dir, nodeId: "a" });
  await bootstrap(storage);
  await storage.log.append({ entries: [], hardState: { term: 2, vote: "a", commit: 1 }, sync: true });
  for (const each of entries(2, last, 2, size)) {
    await storage.log.append({ entries: [each], hardState: undefined, sync: true });
  }
  await storage.close();
}

/** Returns the only file of the database with this ending, or the largest. */
export function fileOf(dir: string, ending: RegExp, database = "raft"): string {
  const found = readdirSync(join(dir, database))
    .filter((name) => ending.test(name))
    .map((name) => join(dir, database, name))
    .sort((a, b) => readFileSync(b).length - readFileSync(a).length);
  assert.ok(found[0] !== undefined, `no file ${ending} in ${database}`);
  return found[0];
}

export function damage(file: string, change: (bytes: Buffer) => Buffer): void {
  writeFileSync(file, change(readFileSync(file)));
}

/** Returns all entries from `first` to the end, as index, term and text. */
export function contents(storage: Storage, first = storage.log.firstIndex()): readonly string[] {
  const last = storage.log.lastIndex();
  if (last < first) return [];
  return storage.log
    .entries(first, last + 1, Number.MAX_SAFE_INTEGER)
    .map(({ index, term, data }) => `${index}/${term} ${Buffer.from(data).toString()}`);
}
