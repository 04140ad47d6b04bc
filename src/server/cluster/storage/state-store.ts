/**
 * One generation of the applied state on disk. Writes are not synced: rows can be rebuilt from the newest snapshot and the log,
 * so a power failure costs only time.
 */

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { SnapshotMeta } from "../../core/raft/index.ts";
import type { Applied } from "../../core/state/index.ts";
import { damaged, StorageError, unwritable, writeFailed } from "../storage-error.ts";
import { type Database, openDatabase } from "./database.ts";
import { stateName, syncDirectory } from "./directory.ts";
import { BadRecord } from "./log-records.ts";
import { readRows, writeSnapshotFile } from "./snapshot-file.ts";
import { decodeMarker, EMPTY_DIGEST, MARKER_KEY, type Marker, markerOperation, rowOperation } from "./state-rows.ts";
import type { SnapshotRecord, StateBuild, StateStore } from "./types.ts";

interface StateLocation {
  /** Path of the data directory. */
  readonly path: string;
  /** Name of the data directory in messages. */
  readonly displayPath: string;
  readonly generation: number;
}

export interface OpenStateStore extends StateStore {
  /** Makes the last write durable. */
  flush(): Promise<void>;
  /** Removes rows of an incomplete bootstrap. */
  clear(): Promise<void>;
}

const UNWRITTEN: Marker = { index: 0, term: 0, now: 0, digest: EMPTY_DIGEST };

/** Size of the table in memory. A state gets many small writes, and a larger table needs fewer files. */
const WRITE_BUFFER_BYTES = 8 << 20;

export async function openState(location: StateLocation): Promise<OpenStateStore> {
  const { path, displayPath, generation } = location;
  const database = await openDatabase({
    path: displayPath,
    location: join(path, stateName(generation)),
    create: false,
    writeBufferSize: WRITE_BUFFER_BYTES,
  });
  try {
    return createStateStore(location, database, await readMarker(database));
  } catch (cause) {
    await database.close();
    throw readFailed(displayPath, cause);
  }
}

async function readMarker({ level }: Database): Promise<Marker> {
  const bytes = await level.get(MARKER_KEY);
  if (bytes !== undefined) return decodeMarker(bytes);
  for await (const rows of readRows(level)) {
    if (rows.length > 0) throw new BadRecord("the state has no applied index");
  }
  return UNWRITTEN;
}

function createStateStore(
  { path, displayPath, generation }: StateLocation,
  database: Database,
  initial: Marker,
): OpenStateStore {
  let marker = initial;
  let isWriting = false;
  let reading: Promise<unknown> = Promise.resolve();

  async function writeSnapshot(meta: SnapshotMeta, signal: AbortSignal): Promise<SnapshotRecord> {
    if (isWriting) throw new Error("a write of the state is under way");
    const applied = marker;
    if (applied.index !== meta.index || applied.term !== meta.term) {
      throw new Error(`the state is at ${applied.index}, not at ${meta.index}`);
    }
    const snapshot = database.level.snapshot();
    try {
      const file = await writeSnapshotFile(path, meta, readRows(database.level, snapshot), signal);
      // A snapshot of damaged rows would carry the damage to other nodes.
      if (file.digest !== applied.digest) throw new BadRecord("the rows of the state do not match their digest");
      return recordOf(meta, applied, file);
    } catch (cause) {
      if (signal.aborted && cause === signal.reason) throw cause;
      throw cause instanceof BadRecord
        ? database.fail(damaged(displayPath, cause.message, cause))
        : writeFailed(displayPath, cause);
    } finally {
      await snapshot.close();
    }
  }

  return {
    generation,
    get applied() {
      return marker;
    },
    async *load() {
      try {
        yield* readRows(database.level);
      } catch (cause) {
        throw database.fail(readFailed(displayPath, cause));
      }
    },
    write(mutations, applied, digest) {
      if (isWriting) throw new Error("a write of the state is under way");
      isWriting = true;
      const operations = [...mutations.map(rowOperation), markerOperation(applied, digest)];
      return database
        .exclusive(async () => {
          await database.write(operations, false);
          marker = { ...applied, digest };
        })
        .finally(() => {
          isWriting = false;
        });
    },
    writeSnapshot(meta, signal) {
      const written = writeSnapshot(meta, signal);
      reading = written.catch(() => undefined);
      return written;
    },
    flush: () => database.exclusive(() => database.flush()),
    clear: () =>
      database.exclusive(async () => {
        const keys = await database.level.keys().all();
        await database.write(
          keys.map((key) => ({ type: "del", key })),
          true,
        );
        marker = UNWRITTEN;
      }),
    async close() {
      await reading;
      await database.close();
    },
  };
}

function recordOf(
  { index, term, configuration }: SnapshotMeta,
  { now }: Applied,
  file: Pick<SnapshotRecord, "rows" | "digest" | "size" | "sha256">,
): SnapshotRecord {
  return { index, term, configuration, now, ...file };
}

/** Builds a generation beside the one in use. It has no effect until the log database names it. */
export async function buildState({ path, displayPath, generation }: StateLocation): Promise<StateBuild> {
  const location = join(path, stateName(generation));
  let database: Database;
  try {
    await rm(location, { recursive: true, force: true });
    await mkdir(location, { mode: 0o700 });
    database = await openDatabase({ path: displayPath, location, create: true, writeBufferSize: WRITE_BUFFER_BYTES });
  } catch (cause) {
    throw cause instanceof StorageError ? cause : unwritable(displayPath, cause);
  }
  const writeMarker = (applied: Applied, digest: string) =>
    database.exclusive(() => database.write([markerOperation(applied, digest)], true));
  return {
    generation,
    add: (rows) =>
      database.exclusive(() =>
        database.write(
          rows.map(([key, value]) => rowOperation({ key, value })),
          false,
        ),
      ),
    async finish(applied, digest) {
      // Index 0 is an empty store before its first write, which has no marker.
      if (applied.index > 0) await writeMarker(applied, digest);
      await database.exclusive(() => database.flush());
      await database.close();
      try {
        await syncDirectory(location);
        await syncDirectory(path);
      } catch (cause) {
        throw writeFailed(displayPath, cause);
      }
    },
    async abandon() {
      await database.close().catch(() => undefined);
      await rm(location, { recursive: true, force: true });
    },
  };
}

/** Returns the error for a failed read. Errors that LevelDB reports count as damage. */
function readFailed(displayPath: string, cause: unknown): StorageError {
  if (cause instanceof StorageError) return cause;
  const what = cause instanceof BadRecord ? cause.message : "its state cannot be read";
  return damaged(displayPath, what, cause);
}
