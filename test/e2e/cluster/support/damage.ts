/**
 * Damage to the files of a stopped node. Each function resolves with what it did, or `undefined` if the directory has
 * no such file. A node must notice each at its next start, except for those that may be harmless.
 */
import { open, readdir, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";

type Damage = (dataDir: string) => Promise<string | undefined>;

const LOG_FOLDER = "raft";

/** LevelDB opens a database with such a MANIFEST, and parts of it are missing. */
const shortManifest: Damage = async (dataDir) => {
  const path = await newest(join(dataDir, LOG_FOLDER), /^MANIFEST-/);
  if (path === undefined || !(await hasTables(join(dataDir, LOG_FOLDER)))) return undefined;
  const { size } = await stat(path);
  await truncate(path, size - 1);
  return `${path} is short of its last byte`;
};

/** Flips a byte in the middle of the log's largest table, where its records are. */
const flippedTableByte: Damage = async (dataDir) => {
  const path = await largest(join(dataDir, LOG_FOLDER), /\.(ldb|sst)$/);
  return path === undefined ? undefined : await flip(path);
};

/** Does the same in the rows of the state. */
const flippedStateByte: Damage = async (dataDir) => {
  const folder = (await readdir(dataDir)).find((name) => /^state-\d+$/.test(name));
  if (folder === undefined) return undefined;
  const path = await largest(join(dataDir, folder), /\.(ldb|sst)$/);
  return path === undefined ? undefined : await flip(path);
};

/** LevelDB opens a database without it, and its content is missing. */
const deletedWriteAheadLog: Damage = async (dataDir) => {
  const path = await largest(join(dataDir, LOG_FOLDER), /^\d+\.log$/);
  if (path === undefined) return undefined;
  await rm(path);
  return `${path} is deleted`;
};

const cutWriteAheadLog: Damage = async (dataDir) => {
  const path = await largest(join(dataDir, LOG_FOLDER), /^\d+\.log$/);
  if (path === undefined) return undefined;
  const { size } = await stat(path);
  await truncate(path, size >> 1);
  return `${path} is cut in half`;
};

const deletedLogDatabase: Damage = async (dataDir) => {
  await rm(join(dataDir, LOG_FOLDER), { recursive: true });
  return `${LOG_FOLDER} is deleted`;
};

const deletedGuard: Damage = async (dataDir) => {
  await rm(join(dataDir, "raft-guard"));
  return "raft-guard is deleted";
};

const deletedCurrent: Damage = async (dataDir) => {
  await rm(join(dataDir, LOG_FOLDER, "CURRENT"));
  return "CURRENT is deleted";
};

export const DAMAGES: Readonly<Record<string, Damage>> = {
  "MANIFEST short of one byte": shortManifest,
  "flipped byte in a table of the log": flippedTableByte,
  "flipped byte in a table of the state": flippedStateByte,
  "deleted write-ahead log": deletedWriteAheadLog,
  "write-ahead log cut in half": cutWriteAheadLog,
  "deleted log database": deletedLogDatabase,
  "deleted guard file": deletedGuard,
  "deleted CURRENT": deletedCurrent,
};

/**
 * Tables also have replaced values that are never read, and the last record of a MANIFEST may belong to a compaction
 * whose input tables still exist: such a node must have what the others have. The log replaces nothing in the middle of
 * its records.
 */
export const MAY_BE_HARMLESS: ReadonlySet<string> = new Set([
  "flipped byte in a table of the state",
  "MANIFEST short of one byte",
]);

async function flip(path: string): Promise<string> {
  const file = await open(path, "r+");
  try {
    const { size } = await file.stat();
    // The index of a table is at its end, and its records come first.
    const at = size >> 1;
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, at);
    byte[0] = (byte[0] ?? 0) ^ 0x40;
    await file.write(byte, 0, 1, at);
    return `${path} has byte ${at} of ${size} flipped`;
  } finally {
    await file.close();
  }
}

async function hasTables(folder: string): Promise<boolean> {
  return (await readdir(folder)).some((name) => /\.(ldb|sst)$/.test(name));
}

async function newest(folder: string, name: RegExp): Promise<string | undefined> {
  const names = (await readdir(folder)).filter((each) => name.test(each)).sort();
  const last = names.at(-1);
  return last === undefined ? undefined : join(folder, last);
}

async function largest(folder: string, name: RegExp): Promise<string | undefined> {
  let found: { readonly path: string; readonly size: number } | undefined;
  for (const each of (await readdir(folder)).filter((candidate) => name.test(candidate))) {
    const path = join(folder, each);
    const { size } = await stat(path);
    if (size > (found?.size ?? 0)) found = { path, size };
  }
  return found?.path;
}
