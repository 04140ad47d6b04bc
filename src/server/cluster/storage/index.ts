/** Storage of a node on disk. */

export { StorageError, type StorageErrorCode } from "../storage-error.ts";
export { openDatabase } from "./database.ts";
export { GUARD_FILE, RAFT_DIRECTORY, restoreFileName } from "./directory.ts";
export { openMemoryStorage } from "./memory-storage.ts";
export { type OpenedStorage, openExisting, openStorage } from "./open-storage.ts";
export { writeSnapshotFile } from "./snapshot-file.ts";
export { configurationAfter, configurationOf } from "./stored-configuration.ts";
export type * from "./types.ts";
