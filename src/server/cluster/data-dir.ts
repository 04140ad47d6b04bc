/**
 * The data directory of a node: created for its owner alone, locked against a second process, refused when it was
 * written by a newer version, belongs to another node or is damaged.
 *
 * Layout: `<dir>/raft` is a LevelDB database; `m/format` holds the format version, `m/node` the node's id, both as text.
 * LevelDB creates a new database over an old one whose CURRENT file is lost, and drops what it cannot read with no more
 * than a line in its LOG. So a database is created under another name and renamed when it is complete, an existing one
 * is never created anew, and LOG is read after each opening. `repair` is never called: it drops what it cannot read.
 * Opening is a write, so a directory must not be opened to look at it while a node runs.
 */

import { type FileHandle, mkdir, mkdtemp, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ClassicLevel } from "classic-level";
import { StorageError } from "./storage-error.ts";

export interface DataDirOptions {
  readonly dir: string;
  readonly nodeId: string;
  /** Looked at between steps; a step of the database cannot be interrupted. */
  readonly signal?: AbortSignal;
}

export interface DataDir {
  /** Absolute. */
  readonly path: string;
  /** For the log: what is permitted and unwise. */
  readonly warnings: readonly string[];
  /** Waits for the database to close and lets go of the lock. Repeated calls wait for the same end. */
  close(): Promise<void>;
}

const FORMAT = 1;

const FORMAT_KEY = "m/format";
const NODE_KEY = "m/node";

/** After the final name, and before six characters that make the name of one attempt unique. */
const UNFINISHED = ".new-";

/** LevelDB begins LOG anew at each opening; what one opening writes is a few lines for each file it recovers. */
const MAX_LOG_BYTES = 1024 * 1024;

/** The wordings with which LevelDB passes over what it could not read (db_impl.cc, log_reader.cc). */
const LOSS = /dropping \d|ignoring error|corruption/i;

type Database = ClassicLevel<string, string>;

/** Rejects with a `StorageError`, or with the signal's reason. */
export async function openDataDir({ dir, nodeId, signal }: DataDirOptions): Promise<DataDir> {
  signal?.throwIfAborted();
  const path = resolve(dir);
  const location = join(path, "raft");
  const warnings = await prepareDirectory(path);
  if (!(await exists(location))) {
    signal?.throwIfAborted();
    await createDatabase({ path, location, nodeId });
  }
  signal?.throwIfAborted();
  const database = await openDatabase(path, location, { createIfMissing: false });
  try {
    await refuseLoss(path, location);
    await refuseForeign(database, { path, nodeId });
    await removeUnfinished(path);
    signal?.throwIfAborted();
  } catch (error) {
    await database.close();
    throw error;
  }
  let closing: Promise<void> | undefined;
  return {
    path,
    warnings,
    close() {
      closing ??= database.close();
      return closing;
    },
  };
}

/** Creates what is missing of the path, for the owner alone; what exists is left as it is, and warned about. */
async function prepareDirectory(path: string): Promise<readonly string[]> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    const { mode } = await stat(path);
    const permissions = (mode & 0o777).toString(8).padStart(4, "0");
    if ((mode & 0o002) !== 0) {
      return [
        `every user of this machine can write to the data directory ${path} (mode ${permissions}): set it to 0700`,
      ];
    }
    if ((mode & 0o004) !== 0) {
      return [`every user of this machine can read the data directory ${path} (mode ${permissions}): set it to 0700`];
    }
    return [];
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

interface NewDatabase {
  readonly path: string;
  readonly location: string;
  readonly nodeId: string;
}

/**
 * Each process builds a database of its own beside the final name; the rename decides between several, since it fails
 * when the name leads to a directory that is not empty. Who comes second finds the first one's database locked.
 */
async function createDatabase({ path, location, nodeId }: NewDatabase): Promise<void> {
  let unfinished: string | undefined;
  try {
    unfinished = await mkdtemp(`${location}${UNFINISHED}`);
    const database = await openDatabase(path, unfinished, { createIfMissing: true });
    try {
      await database.batch(
        [
          { type: "put", key: FORMAT_KEY, value: String(FORMAT) },
          { type: "put", key: NODE_KEY, value: nodeId },
        ],
        { sync: true },
      );
    } finally {
      await database.close();
    }
    await rename(unfinished, location);
    await syncDirectory(path);
  } catch (error) {
    if (unfinished !== undefined) await rm(unfinished, { recursive: true, force: true });
    if (await exists(location)) return;
    throw error instanceof StorageError ? error : unwritable(path, error);
  }
}

/** What processes left that were ended while creating. Called with the lock held, when no creation can succeed. */
async function removeUnfinished(path: string): Promise<void> {
  try {
    for (const name of await readdir(path)) {
      if (name.startsWith(`raft${UNFINISHED}`)) await rm(join(path, name), { recursive: true, force: true });
    }
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

async function openDatabase(
  path: string,
  location: string,
  options: { readonly createIfMissing: boolean },
): Promise<Database> {
  const database: Database = new ClassicLevel(location, { keyEncoding: "utf8", valueEncoding: "utf8", ...options });
  try {
    await database.open();
    return database;
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    const code = codeOf(cause);
    if (code === "LEVEL_LOCKED") {
      throw new StorageError(
        "locked",
        `the data directory ${path} is in use by another process: stop that one, or give this one its own data_dir`,
        { cause: error },
      );
    }
    const text = cause instanceof Error ? cause.message : "";
    // An existing database without its CURRENT file looks to LevelDB like none at all.
    if (code === "LEVEL_CORRUPTION" || /does not exist|no such file/i.test(text)) {
      throw damaged(path, text === "" ? "the database does not open" : text, error);
    }
    throw unwritable(path, cause ?? error);
  }
}

/** Reads what LevelDB wrote to LOG while it opened. */
async function refuseLoss(path: string, location: string): Promise<void> {
  let file: FileHandle | undefined;
  try {
    file = await open(join(location, "LOG"), "r");
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_LOG_BYTES), 0, MAX_LOG_BYTES, 0);
    const line = buffer
      .toString("utf8", 0, bytesRead)
      .split("\n")
      .find((each) => LOSS.test(each));
    if (line !== undefined) throw damaged(path, `the database lost records: ${line.slice(0, 200)}`);
  } catch (error) {
    // Where LevelDB could not open LOG it opens the database without one.
    if (codeOf(error) !== "ENOENT") throw error instanceof StorageError ? error : unwritable(path, error);
  } finally {
    await file?.close();
  }
}

async function refuseForeign(
  database: Database,
  { path, nodeId }: { readonly path: string; readonly nodeId: string },
): Promise<void> {
  const [format, owner] = await readIdentity(database, path);
  if (format === undefined || !/^[1-9]\d{0,8}$/.test(format)) throw damaged(path, "its format version is missing");
  if (Number(format) > FORMAT) {
    throw new StorageError(
      "newer_format",
      `the data directory ${path} was written by a newer version (format ${format}, this one reads ${FORMAT}): upgrade this gateway`,
    );
  }
  if (owner === undefined) throw damaged(path, "its node id is missing");
  if (owner !== nodeId) {
    throw new StorageError(
      "wrong_node",
      `the data directory ${path} belongs to node ${JSON.stringify(owner)}, this is ${JSON.stringify(nodeId)}: ` +
        "set cluster.node_id back, or give this node its own cluster.data_dir",
    );
  }
}

async function readIdentity(database: Database, path: string): Promise<readonly (string | undefined)[]> {
  try {
    return await database.getMany([FORMAT_KEY, NODE_KEY]);
  } catch (cause) {
    throw damaged(path, "its format version cannot be read", cause);
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return false;
    throw unwritable(path, cause);
  }
}

/** A rename is durable once the directory that holds the name is. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function unwritable(path: string, cause: unknown): StorageError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new StorageError(
    "unwritable",
    `the data directory ${path} cannot be written (${why}): check that the path is a directory, its rights and the disk`,
    { cause },
  );
}

function damaged(path: string, what: string, cause?: unknown): StorageError {
  return new StorageError(
    "damaged",
    `the data directory ${path} is damaged (${what}): restore it from a backup, or move it away to begin with an empty one`,
    { cause },
  );
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}
