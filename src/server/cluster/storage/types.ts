/**
 * Storage of a node on disk, as the replica uses it. Layout, checks and rules: cluster reference, section 3.
 *
 * Every promise that rejects does so with a `StorageError`, and ends the process: after a failed write LevelDB acknowledges
 * writes that it loses, and after a failed fsync the kernel forgets the pages. Nothing is retried on an open handle. Of each
 * store one `append` or `write` may be in flight; a second one throws a plain `Error`, as does any misuse. Reading an entry
 * that is not in memory can throw a `StorageError`, too.
 */

import type { Configuration, Entry, HardState, LogReader, SnapshotMeta } from "../../core/raft/index.ts";
import type { Applied, Mutation } from "../../core/state/index.ts";

/** Owner of a data directory. */
export interface StorageIdentity {
  readonly nodeId: string;
  /** 32 hex digits, drawn when the directory was created. */
  readonly storageId: string;
  /** Raised by each `cluster recover`; a peer with a lower one is refused. */
  readonly recoveryEpoch: number;
  /** 16 hex digits derived from the cluster secret; undefined for a node without one. */
  readonly clusterId: string | undefined;
  /** Whether it was blank when an existing cluster admitted it, which may have known another directory under this node's id. */
  readonly hasJoined: boolean;
}

/** A snapshot file on this disk: `snap-<term>-<index>.bin`, in the format of `state.bin`. */
export interface SnapshotRecord extends SnapshotMeta {
  /** Log time of the state; see `Applied`. */
  readonly now: number;
  readonly rows: number;
  readonly digest: string;
  readonly size: number;
  /** Digest of the file, hex. */
  readonly sha256: string;
}

export interface LogWrite {
  /** Replace everything at the first one's index and above. */
  readonly entries: readonly Entry[];
  readonly hardState: HardState | undefined;
  /** False if only `commit` changed. */
  readonly sync: boolean;
}

export interface LogStore extends LogReader {
  readonly identity: StorageIdentity;
  /** Whether it has no entry, no snapshot and no vote: this directory has never been part of a cluster. */
  readonly isBlank: boolean;
  /** Bytes of the entries kept. */
  readonly byteLength: number;
  /** The newest snapshot; undefined before the first. A bootstrap's has no file and `size` 0. */
  readonly snapshotRecord: SnapshotRecord | undefined;
  /**
   * Stores the first configuration of a cluster: a snapshot at index 1 of term 1, for the rows that the state has then, written
   * before at that position. Until this has ended, a restart finds both blank. Throws unless blank.
   */
  bootstrap(configuration: Configuration): Promise<void>;
  /** Joins a cluster, which may have been recovered before. Throws unless blank. */
  join(epoch: number): Promise<void>;
  /**
   * Durable once resolved. The guard file is, too, where a term or a vote was written; behind entries alone it follows
   * at once, see `guard.ts`. Throws while another append is under way; other writes wait for each other.
   */
  append(write: LogWrite): Promise<void>;
  /**
   * Records a snapshot whose file is complete and renamed, then drops entries up to `compactTo`, at most its index, in steps
   * between which appends go on. Does nothing if a newer one was installed meanwhile.
   */
  recordSnapshot(record: SnapshotRecord, compactTo: number): Promise<void>;
  /**
   * Together with the flip of the state's generation in one synced batch: the log is emptied and begins behind
   * `record`; the hard state's commit is at least its index.
   */
  install(record: SnapshotRecord, hardState: HardState, generation: number): Promise<void>;
  close(): Promise<void>;
}

export interface StateStore {
  readonly generation: number;
  /** Rows verified by checksum, in the order of their keys, in slices; to be read once, at the start. */
  load(): AsyncIterable<readonly (readonly [key: string, value: string])[]>;
  /** Position of the stored rows; index 0 for an empty store. `digest`: what the rows must match. */
  readonly applied: Applied & { readonly digest: string };
  /** Not synced: after a power failure the rows may be older, but never torn. `mutations` and the marker are one batch. */
  write(mutations: readonly Mutation[], applied: Applied, digest: string): Promise<void>;
  /**
   * Writes the rows as of the last finished `write`, at position `meta`, to a snapshot file, in small steps between which
   * writes go on. No write may be in flight at the call. Durable once resolved; if the signal aborts, nothing is left and the
   * promise rejects with its reason.
   */
  writeSnapshot(meta: SnapshotMeta, signal: AbortSignal): Promise<SnapshotRecord>;
  close(): Promise<void>;
}

/** A generation being built beside the one in use, from a snapshot or a restore. */
export interface StateBuild {
  readonly generation: number;
  add(rows: readonly (readonly [key: string, value: string])[]): Promise<void>;
  /** Synced and closed; `LogStore.install` or `Storage.adopt` makes it the one in use. */
  finish(applied: Applied, digest: string): Promise<void>;
  abandon(): Promise<void>;
}

/** The opened data directory. */
export interface Storage {
  readonly path: string;
  readonly warnings: readonly string[];
  readonly log: LogStore;
  state(): StateStore;
  build(): Promise<StateBuild>;
  /** Makes a finished build the one in use without touching the log: a restore at an applied entry. */
  adopt(generation: number): Promise<void>;
  /** After `install` or `adopt`: closes the old generation, opens the new one, and removes what is no longer used. */
  reopenState(): Promise<StateStore>;
  /** Absolute path of a snapshot's file, present or to be received into. */
  snapshotPath(meta: Pick<SnapshotMeta, "index" | "term">): string;
  /** Removes snapshot files that no record names and that are not being received. */
  removeOldSnapshots(): Promise<void>;
  /** Bytes free on the file system of the data directory. */
  freeBytes(): Promise<number>;
  /** Index of the entry as of which the cluster has removed this node; `undefined` if it has not, as far as is known. */
  removedAt(): number | undefined;
  /** Durable once resolved. One call may be in flight. */
  setRemovedAt(index: number | undefined): Promise<void>;
  close(): Promise<void>;
}
