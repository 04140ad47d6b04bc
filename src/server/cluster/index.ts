/** What a node keeps on disk: its data directory, opened and locked. */

export { type DataDir, type DataDirOptions, openDataDir } from "./data-dir.ts";
export { StorageError, type StorageErrorCode } from "./storage-error.ts";
