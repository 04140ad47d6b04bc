/**
 * Interface of a node's storage to the replica. Layout, checks and rules: cluster reference, section 3.
 *
 * Every promise that rejects does so with a `StorageError`, and ends the process: after a failed write LevelDB acknowledges
 * writes that it loses, and after a failed fsync the kernel forgets the pages. Nothing is retried on an open handle. Each store
 * allows one `append` or `write` in flight; a second one throws a plain `Error`, as does any misuse. Reading an entry that is not
 * in memory can throw a `StorageError`, too.
 */

import type { Configuration, Entry, HardState, LogReader, SnapshotMeta } from "../../core/raft/index.ts";
import type { Applied, Mutation } from "../../core/state/index.ts";

/** Owner of a data directory. */
export interface StorageIdentity {
  readonly nodeId: string;
  /** Random id of 32 hex digits, created with the directory. */
  readonly storageId: string;
  /** Recovery epoch, which each `cluster recover` raises. A peer with a lower one is refused. */
  readonly recoveryEpoch: number;
  /** Cluster id of 16 hex digits, derived from the cluster secret; `undefined` for a node without one. */
  readonly clusterId: string | undefined;
  /**
   * Whether the directory was blank when an existing cluster admitted it. The cluster may have known another directory under this
   * node's id.
   */
  readonly hasJoined: boolean;
}

/** Record of a snapshot file on this disk: `snap-<term>-<index>.bin`, in the format of `state.bin`. */
export interface SnapshotRecord extends SnapshotMeta {
  /** Log time of the state; see `Applied`. */
  readonly now: number;
  readonly rows: number;
  readonly digest: string;
  readonly size: number;
  /** Hex digest of the file. */
  readonly sha256: string;
}

export interface LogWrite {
  /** Entries to write. They replace everything at the first one's index and above. */
  readonly entries: readonly Entry[];
  readonly hardState: HardState | undefined;
  /** Whether to sync the write; false if only `commit` changed. */
  readonly sync: boolean;
}

export interface LogStore extends LogReader {
  readonly identity: StorageIdentity;
  /** Whether there is no entry, no snapshot and no vote: the directory has never been part of a cluster. */
  readonly isBlank: boolean;
  /** Total size of the kept entries, in bytes. */
  readonly byteLength: number;
  /** Newest snapshot; `undefined` before the first. The one of a bootstrap has no file and `size` 0. */
  readonly snapshotRecord: SnapshotRecord | undefined;
  /**
   * Stores the first configuration of a cluster: a snapshot at index 1 of term 1, for rows that were written to the state at that
   * position before. Until it resolves, a restart finds both blank. Throws unless blank.
   */
  bootstrap(configuration: Configuration): Promise<void>;
  /** Joins a cluster, which may have been recovered before. Throws unless blank. */
  join(epoch: number): Promise<void>;
  /**
   * Appends to the log; durable once resolved. If a term or a vote was written, the guard file is durable too; after entries
   * alone it follows soon, see `guard-file.ts`. Throws while another append runs; other writes wait for each other.
   */
  append(write: LogWrite): Promise<void>;
  /**
   * Records a snapshot whose file is complete and renamed, then drops entries up to `compactTo`, at most its index, in steps that
   * let appends run in between. Does nothing if a newer one was installed meanwhile.
   */
  recordSnapshot(record: SnapshotRecord, compactTo: number): Promise<void>;
  /**
   * Installs a snapshot and the state's new generation in one synced batch: the log is emptied and begins after `record`, and the
   * hard state's commit is at least its index.
   */
  install(record: SnapshotRecord, hardState: HardState, generation: number): Promise<void>;
  close(): Promise<void>;
}

export interface StateStore {
  readonly generation: number;
  /** Reads the rows, verified by checksum, in slices and in the order of their keys. Call it once, at the start. */
  load(): AsyncIterable<readonly (readonly [key: string, value: string])[]>;
  /** Position of the stored rows; index 0 for an empty store. `digest`: what the rows must match. */
  readonly applied: Applied & { readonly digest: string };
  /**
   * Writes mutations and the marker as one batch. It is not synced: after a power failure the rows may be older, but never torn.
   */
  write(mutations: readonly Mutation[], applied: Applied, digest: string): Promise<void>;
  /**
   * Writes the rows as of the last finished `write`, at position `meta`, to a snapshot file, in small steps that let writes run
   * in between. No write may be in flight at the call. The file is durable once resolved. If the signal aborts, nothing is left
   * and the promise rejects with its reason.
   */
  writeSnapshot(meta: SnapshotMeta, signal: AbortSignal): Promise<SnapshotRecord>;
  close(): Promise<void>;
}

/** Generation that is being built beside the one in use, from a snapshot or a restore. */
export interface StateBuild {
  readonly generation: number;
  add(rows: readonly (readonly [key: string, value: string])[]): Promise<void>;
  /** Syncs and closes the generation; `LogStore.install` or `Storage.adopt` then makes it the one in use. */
  finish(applied: Applied, digest: string): Promise<void>;
  abandon(): Promise<void>;
}

/** Opened data directory. */
export interface Storage {
  readonly path: string;
  readonly warnings: readonly string[];
  readonly log: LogStore;
  state(): StateStore;
  build(): Promise<StateBuild>;
  /** Makes a finished build the one in use without changing the log, for a restore at an applied entry. */
  adopt(generation: number): Promise<void>;
  /** Call it after `install` or `adopt`: closes the old generation, opens the new one, and removes unused files. */
  reopenState(): Promise<StateStore>;
  /** Returns the absolute path of a snapshot's file, which may not exist yet. */
  snapshotPath(meta: Pick<SnapshotMeta, "index" | "term">): string;
  /** Removes snapshot files that no record names and that are not being received. */
  removeOldSnapshots(): Promise<void>;
  /** Returns the free bytes on the file system of the data directory. Rejects with a `StorageError` if its files were removed. */
  freeBytes(): Promise<number>;
  /** Returns the index of the entry by which the cluster removed this node; `undefined` if no removal is known. */
  removedAt(): number | undefined;
  /** Stores the index, durably once resolved. One call may be in flight. */
  setRemovedAt(index: number | undefined): Promise<void>;
  close(): Promise<void>;
}
