/**
 * Opens the data directory of a node: creates it for its owner only, locks it against a second process, checks all of it, and
 * removes unfinished files. Content that is not exactly what was written is refused; nothing is repaired.
 *
 * Order of creation: the log database under another name, renamed when complete; then the first generation of the state; then the
 * record that names it; then the guard file. If a step was interrupted, the next start completes it.
 */

import { join, resolve } from "node:path";
import { damaged, StorageError, unwritable } from "../storage-error.ts";
import { checkGuard } from "./check-guard.ts";
import { type Database, openDatabase } from "./database.ts";
import {
  exists,
  freeBytes,
  GUARD_FILE,
  hasRemains,
  prepareDirectory,
  RAFT_DIRECTORY,
  removeLeftovers,
  removeOldSnapshotFiles,
  removeOldStates,
  sizeOf,
  snapshotName,
  syncDirectory,
} from "./directory.ts";
import {
  clusterChange,
  createDatabase,
  FORMAT,
  putText,
  readIdentity,
  type StoredIdentity,
} from "./directory-identity.ts";
import { type GuardFile, openGuard, readGuard } from "./guard-file.ts";
import { GENERATION_KEY, type LoadedLog, loadLog } from "./load-log.ts";
import { BadRecord, encodeGeneration } from "./log-records.ts";
import { createLogStore, type OpenLogStore } from "./log-store.ts";
import type { LogFacts } from "./log-writer.ts";
import { buildState, type OpenStateStore, openState } from "./state-store.ts";
import { readRemoval, writeRemoval } from "./stored-removal.ts";
import type { StateBuild, StateStore, Storage, StorageIdentity } from "./types.ts";

interface StorageOptions {
  readonly dir: string;
  readonly nodeId: string;
  /** Cluster id: 16 hex digits derived from the cluster secret; `undefined` if it is not checked. */
  readonly clusterId?: string | undefined;
  /** Cluster id of the previous secret; a directory with it is accepted. */
  readonly previousClusterId?: string | undefined;
  /** Checked between steps; a step of a database cannot be interrupted. */
  readonly signal?: AbortSignal;
  /** Minimum free bytes; with less, a warning is added. */
  readonly minFreeBytes?: number;
}

/** Storage with the parts that only recovery needs. */
export interface OpenedStorage extends Storage {
  readonly log: OpenLogStore;
}

/** Opens or creates the storage. Rejects with a `StorageError`, or with the signal's reason. */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { dir, nodeId, signal, minFreeBytes = 0 } = options;
  signal?.throwIfAborted();
  const path = resolve(dir);
  const warnings = [...(await prepareDirectory(path))];
  const isOld = await hasRemains(path);
  if (!(await exists(join(path, RAFT_DIRECTORY)))) {
    if (isOld) throw damaged(path, "its log is missing");
    signal?.throwIfAborted();
    await createDatabase({ path, nodeId });
  }
  signal?.throwIfAborted();
  const free = await freeBytes(path);
  if (free < minFreeBytes) {
    warnings.push(
      `${mebibytes(free)} are free for the data directory ${path}, and writes need ${mebibytes(minFreeBytes)}`,
    );
  }
  return openExisting({ ...options, path, displayPath: path, nodeId, warnings });
}

interface ExistingStorage extends Pick<StorageOptions, "clusterId" | "previousClusterId" | "signal"> {
  /** Absolute path. */
  readonly path: string;
  /** Name in messages. */
  readonly displayPath: string;
  /** Expected node id; `undefined` accepts any, for inspection. */
  readonly nodeId: string | undefined;
  readonly warnings: readonly string[];
}

/** Same as `openStorage`, for a directory that has its log database, whose lock is taken first. */
export async function openExisting(options: ExistingStorage): Promise<OpenedStorage> {
  const { path, displayPath, signal } = options;
  const database = await openDatabase({ path: displayPath, location: join(path, RAFT_DIRECTORY), create: false });
  const opened: { close(): Promise<void> }[] = [database];
  try {
    const { identity, loaded, serial } = await readDatabase(database, options);
    signal?.throwIfAborted();
    const guard = await openOrCreateGuard(path, identity, loaded, serial);
    opened.push(guard);
    const { generation, snapshot } = loaded;
    let state = await openState({ path, displayPath, generation });
    opened.push(state);
    let reopened: Promise<OpenStateStore> = Promise.resolve(state);
    if (snapshot === undefined && loaded.tail.last.index === 0 && state.applied.index === 1) await state.clear();
    refuseContradictions(displayPath, loaded, state);
    await refuseMissingSnapshot(path, displayPath, loaded);
    await removeLeftovers(path, { generation, snapshot: snapshot === undefined ? undefined : snapshotName(snapshot) });
    signal?.throwIfAborted();
    const log = createLogStore({
      path: displayPath,
      identity,
      database,
      guard,
      facts: factsOf(loaded, identity, state.applied.index),
      index: loaded.index,
      applied: () => state.applied,
      // A generation that is adopted is already durable, and its closed predecessor cannot be flushed.
      flushState: async () => (await reopened).flush(),
    });
    return createStorage(options, log, await readRemoval(path, displayPath), {
      current: () => state,
      async reopen(next) {
        const opening = state.close().then(() => openState({ path, displayPath, generation: next }));
        reopened = opening;
        state = await opening;
        return state;
      },
    });
  } catch (error) {
    await Promise.allSettled(opened.reverse().map((each) => each.close()));
    throw error instanceof StorageError || signal?.aborted ? error : unwritable(displayPath, error);
  }
}

type CompleteLog = LoadedLog & { readonly generation: number };

interface ReadDatabase {
  readonly identity: StorageIdentity;
  readonly loaded: CompleteLog;
  /** Serial of the guard file's valid slot. */
  readonly serial: number;
}

/** Reads and checks the log database and the guard file. Writes nothing before all checks have passed. */
async function readDatabase(
  database: Database,
  { path, displayPath, nodeId, clusterId, previousClusterId }: ExistingStorage,
): Promise<ReadDatabase> {
  const identity = await readIdentity(database.level, { path: displayPath, nodeId });
  const change = clusterChange(identity, { path: displayPath, clusterId, previousClusterId });
  const loaded = await loadChecked(database, displayPath);
  const { tail, hardState } = loaded;
  const serial = checkGuard(await readGuard(join(path, GUARD_FILE)), { path: displayPath, identity, tail, hardState });
  const generation = loaded.generation ?? (await completeDirectory(database, identity, loaded, { path, displayPath }));
  if (change.length > 0) await database.write(change, true);
  const { nodeId: owner, storageId, recoveryEpoch, hasJoined } = identity;
  return {
    identity: { nodeId: owner, storageId, recoveryEpoch, hasJoined, clusterId: clusterId ?? identity.clusterId },
    loaded: { ...loaded, generation },
    serial,
  };
}

async function loadChecked({ level }: Database, displayPath: string): Promise<LoadedLog> {
  try {
    return await loadLog(level);
  } catch (cause) {
    throw damaged(displayPath, cause instanceof BadRecord ? cause.message : "its log cannot be read", cause);
  }
}

/** Completes a new directory, or one of format 1: creates a first state and the missing records. */
async function completeDirectory(
  database: Database,
  { storageId }: StoredIdentity,
  { tail, snapshot }: LoadedLog,
  { path, displayPath }: { readonly path: string; readonly displayPath: string },
): Promise<number> {
  if (tail.sequence > 0 || snapshot !== undefined) throw damaged(displayPath, "its state is not named");
  const generation = 1;
  const build = await buildState({ path, displayPath, generation });
  await build.finish({ index: 0, term: 0, now: 0 }, "");
  await database.write(
    [
      putText("m/format", String(FORMAT)),
      putText("m/storage", storageId),
      putText("m/epoch", "0"),
      { type: "put", key: GENERATION_KEY, value: encodeGeneration(generation) },
    ],
    true,
  );
  return generation;
}

/** Opens the guard file. In a new directory it is created before the first batch is written, since it records every batch. */
async function openOrCreateGuard(
  path: string,
  identity: StorageIdentity,
  { tail }: LoadedLog,
  serial: number,
): Promise<GuardFile> {
  const guard = await openGuard(join(path, GUARD_FILE), identity, serial);
  if (serial > 0) return guard;
  try {
    const { index: lastIndex, term: lastTerm, chain: lastChain } = tail.last;
    const nothing = { sequence: 0, epoch: identity.recoveryEpoch, term: 0, vote: undefined, snapshotIndex: 0 };
    await guard.write({ ...nothing, lastIndex, lastTerm, lastChain });
    await syncDirectory(path);
    return guard;
  } catch (error) {
    await guard.close();
    throw error;
  }
}

function factsOf(
  { tail, hardState, snapshot, generation }: CompleteLog,
  identity: StorageIdentity,
  applied: number,
): LogFacts {
  return {
    tail,
    // The commit index is not synced, and everything applied was committed.
    hardState: { ...hardState, commit: Math.max(hardState.commit, applied) },
    snapshot,
    generation,
    epoch: identity.recoveryEpoch,
  };
}

/**
 * Throws if log and state contradict each other. A state that lags is normal: it is not synced, and the log has what it lacks.
 */
function refuseContradictions(displayPath: string, { tail, index }: LoadedLog, { applied }: OpenStateStore): void {
  const { base, last } = tail;
  if (applied.index > last.index) {
    throw damaged(displayPath, `its state is of entry ${applied.index}, and its log ends with entry ${last.index}`);
  }
  if (applied.index < base.index) {
    throw damaged(displayPath, `its state is of entry ${applied.index}, and its log begins behind entry ${base.index}`);
  }
  const term = applied.index === base.index ? base.term : index.term(applied.index);
  if (term !== applied.term) {
    throw damaged(
      displayPath,
      `its state is of an entry ${applied.index} of term ${applied.term}, its log has one of term ${term}`,
    );
  }
}

async function refuseMissingSnapshot(path: string, displayPath: string, { snapshot }: LoadedLog): Promise<void> {
  if (snapshot === undefined || snapshot.size === 0) return;
  const name = snapshotName(snapshot);
  const size = await sizeOf(join(path, name));
  if (size !== snapshot.size)
    throw damaged(displayPath, `its snapshot ${name} is ${size === undefined ? "missing" : "not whole"}`);
}

interface StateHolder {
  current(): OpenStateStore;
  reopen(generation: number): Promise<OpenStateStore>;
}

function createStorage(
  { path, displayPath, warnings }: ExistingStorage,
  log: OpenLogStore,
  removal: number | undefined,
  states: StateHolder,
): OpenedStorage {
  let removedAt = removal;
  let lastGeneration = log.generation;
  let closing: Promise<void> | undefined;

  function build(): Promise<StateBuild> {
    lastGeneration += 1;
    return buildState({ path, displayPath, generation: lastGeneration });
  }

  async function reopenState(): Promise<StateStore> {
    const { generation } = log;
    const state = await states.reopen(generation);
    await removeOldStates(path, generation);
    return state;
  }

  return {
    path,
    warnings,
    log,
    state: () => states.current(),
    build,
    adopt: (generation) => log.adopt(generation),
    reopenState,
    snapshotPath: (meta) => join(path, snapshotName(meta)),
    async removeOldSnapshots() {
      const record = log.snapshotRecord;
      if (record !== undefined) await removeOldSnapshotFiles(path, record);
    },
    async freeBytes() {
      // Writes to open files succeed after they were removed, and are lost when the process ends.
      if (!(await exists(join(path, GUARD_FILE))))
        throw damaged(displayPath, "its files were removed or moved while the node ran");
      return await freeBytes(path);
    },
    removedAt: () => removedAt,
    async setRemovedAt(index) {
      removedAt = index;
      await writeRemoval(path, displayPath, index);
    },
    close() {
      closing ??= closeAll(states.current(), log);
      return closing;
    },
  };
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / (1 << 20))} MiB`;
}

/** Closes both databases, even if one fails. The log is closed last, because its database has the lock of the directory. */
async function closeAll(state: OpenStateStore, log: OpenLogStore): Promise<void> {
  const [closed] = await Promise.allSettled([state.close()]);
  await log.close();
  if (closed.status === "rejected") throw closed.reason;
}
