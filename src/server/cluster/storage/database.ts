/**
 * LevelDB database with the safety checks that LevelDB lacks. LevelDB creates a new database over one whose CURRENT file is lost,
 * so an existing one is opened without permission to create. It drops unreadable data with only a line in its file LOG, so LOG is
 * read after each opening; and it reads tables without checks, so they are checked before. Concurrent writes have no order, so
 * writes run one after another. It acknowledges writes after a failed one and loses them, and a second fsync succeeds without the
 * data of a failed one, so a handle ends with its first error. `repair` is never called, since it drops what it cannot read.
 *
 * Opening is a write: tables and manifest are rewritten. Source: cluster reference, sections 3.1, 3.3 and 3.4.
 */

import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { createSemaphore } from "../../../base/index.ts";
import { codeOf, damaged, StorageError, textOf, unwritable, writeFailed } from "../storage-error.ts";
import { findTableFault } from "./table-files.ts";

export type Level = ClassicLevel<Uint8Array, Uint8Array>;

export type Operation =
  | { readonly type: "put"; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly type: "del"; readonly key: Uint8Array };

export interface Database {
  /** Underlying database; use it only for reading. */
  readonly level: Level;
  /** Error that ended this handle. */
  readonly fault: StorageError | undefined;
  /** Runs tasks one at a time, in the order of the calls. Rejects after the handle has failed. */
  exclusive<Result>(task: () => Promise<Result>): Promise<Result>;
  /** Writes a batch. Call it within `exclusive`. */
  write(operations: readonly Operation[], sync: boolean): Promise<void>;
  /** Marks the handle as failed. */
  fail(cause: unknown): StorageError;
  /** Writes memory to tables, which are synced. A synced write alone only makes its own log file durable. */
  flush(): Promise<void>;
  /** Closes after the current task. Rejects if LevelDB cannot close. */
  close(): Promise<void>;
}

/**
 * Maximum size of LOG that is read, in bytes. LevelDB restarts LOG at each opening, and writes a few lines for each file that
 * it recovers.
 */
const MAX_LOG_BYTES = 1024 * 1024;

/** Messages by which LevelDB reports data that it skipped as unreadable (db_impl.cc, log_reader.cc). */
const LOSS_PATTERN = /dropping \d|ignoring error|corruption/i;

interface OpenDatabase {
  /** Name of the data directory in messages. */
  readonly path: string;
  readonly location: string;
  readonly create: boolean;
  /** Bytes held in memory before a table is written. */
  readonly writeBufferSize?: number;
}

export async function openDatabase(options: OpenDatabase): Promise<Database> {
  const { path, location, create, writeBufferSize = 4 << 20 } = options;
  if (!create) await refuseDamagedTables(path, location);
  const level: Level = new ClassicLevel(location, {
    keyEncoding: "view",
    valueEncoding: "view",
    createIfMissing: create,
    errorIfExists: create,
    writeBufferSize,
  });
  try {
    await level.open();
  } catch (error) {
    throw openFailed(path, error);
  }
  try {
    await refuseLostRecords(path, location);
  } catch (error) {
    await level.close();
    throw error;
  }
  return wrapDatabase(level, path);
}

function wrapDatabase(level: Level, path: string): Database {
  let fault: StorageError | undefined;
  const tasks = createSemaphore({ permits: 1 });
  let closing: Promise<void> | undefined;

  function fail(cause: unknown): StorageError {
    fault ??= writeFailed(path, cause);
    return fault;
  }

  function exclusive<Result>(task: () => Promise<Result>): Promise<Result> {
    if (closing !== undefined) return Promise.reject(new Error("the database is closed"));
    return tasks.run(() => {
      if (fault !== undefined) throw fault;
      return task();
    });
  }

  const close = (): Promise<void> =>
    tasks.run(async () => {
      try {
        await level.close();
      } catch (cause) {
        throw fail(cause);
      }
    });

  return {
    level,
    get fault() {
      return fault;
    },
    exclusive,
    async write(operations, sync) {
      try {
        // A chained batch costs a third of an array of operations.
        const batch = level.batch();
        for (const operation of operations) {
          if (operation.type === "put") batch.put(operation.key, operation.value);
          else batch.del(operation.key);
        }
        await batch.write({ sync });
      } catch (cause) {
        throw fail(cause);
      }
    },
    fail,
    async flush() {
      try {
        // The range has no keys, so nothing is compacted, but the table in memory is written first.
        await level.compactRange(Uint8Array.of(0), Uint8Array.of(0));
      } catch (cause) {
        throw fail(cause);
      }
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

function openFailed(path: string, error: unknown): StorageError {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = codeOf(cause);
  if (code === "LEVEL_LOCKED") {
    return new StorageError(
      "locked",
      `the data directory ${path} is in use by another process: stop that process, or give this one its own data_dir`,
      { cause: error },
    );
  }
  const text = textOf(error);
  // LevelDB treats an existing database without its CURRENT file as missing.
  if (code === "LEVEL_CORRUPTION" || /does not exist|no such file/i.test(text)) {
    return damaged(path, text === "" ? "the database does not open" : text, error);
  }
  return unwritable(path, cause ?? error);
}

async function refuseDamagedTables(path: string, location: string): Promise<void> {
  const fault = await findTableFault(location).catch((error: unknown) => {
    throw unwritable(path, error);
  });
  if (fault !== undefined) throw damaged(path, fault);
}

/** Throws if LevelDB reported lost records in LOG while it opened the database. */
async function refuseLostRecords(path: string, location: string): Promise<void> {
  let file: FileHandle | undefined;
  try {
    file = await open(join(location, "LOG"), "r");
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_LOG_BYTES), 0, MAX_LOG_BYTES, 0);
    const line = buffer
      .toString("utf8", 0, bytesRead)
      .split("\n")
      .find((each) => LOSS_PATTERN.test(each));
    if (line !== undefined) throw damaged(path, `the database lost records: ${line.slice(0, 200)}`);
  } catch (error) {
    // If LevelDB cannot open LOG, it opens the database without one.
    if (codeOf(error) !== "ENOENT") throw error instanceof StorageError ? error : unwritable(path, error);
  } finally {
    await file?.close();
  }
}
