/** The data directory held open by one who reads nothing of it: created, locked and checked as for use. */

import { openStorage } from "./open-storage.ts";

export interface DataDirOptions {
  readonly dir: string;
  readonly nodeId: string;
  readonly signal?: AbortSignal;
}

export interface DataDir {
  /** Absolute. */
  readonly path: string;
  /** For the log: what is permitted and unwise. */
  readonly warnings: readonly string[];
  /** Waits for the databases to close and lets go of the lock. Repeated calls wait for the same end. */
  close(): Promise<void>;
}

/** Rejects with a `StorageError`, or with the signal's reason. */
export async function openDataDir(options: DataDirOptions): Promise<DataDir> {
  const { path, warnings, close } = await openStorage(options);
  return { path, warnings, close };
}
