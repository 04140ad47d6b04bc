/**
 * Error for a data directory that cannot be used. The process then exits with status 11; the message names the directory, what is
 * wrong with it, and what to do. Remedies: cluster reference, section 3.3.
 */

export type StorageErrorCode =
  /** The named directory does not exist. */
  | "missing"
  /** Another process has it open. */
  | "locked"
  /** A later version of the gateway wrote it. */
  | "newer_format"
  /** The directory belongs to a node of another name. */
  | "wrong_node"
  /** The directory belongs to a cluster of another secret. */
  | "wrong_cluster"
  /** The directory cannot be created or written: permissions, or a file in its path. */
  | "unwritable"
  /** The file system has no room left. */
  | "disk_full"
  /** The content differs from what was written. */
  | "damaged"
  /** The content is intact, but older than what this node has acknowledged. */
  | "forgot"
  /** The content is intact, but from before a recovery of its cluster. */
  | "superseded"
  /** Another process runs with a copy of it. */
  | "duplicate"
  /** A write failed while running; its data may or may not exist after a restart. */
  | "write_failed";

export class StorageError extends Error {
  readonly code: StorageErrorCode;

  constructor(code: StorageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StorageError";
    this.code = code;
  }
}

/**
 * Remedy for a damaged directory. It must not suggest a repair or a restored copy: a node that forgets a vote or an entry can
 * undo what others committed.
 */
const REPLACE_HINT =
  "Do not use it again: move it away and start this node with an empty one that joins its cluster (cluster.join). " +
  "If no majority of the cluster is left, run 'gateway cluster recover' on the survivor with the highest last term, " +
  "then the highest last index. If this was the only node, use 'gateway snapshot restore' with an empty one";

/** Returns the error for a data directory whose contents do not match what was written. */
export function damaged(path: string, what: string, cause?: unknown): StorageError {
  return new StorageError("damaged", `the data directory ${path} is damaged (${what}). ${REPLACE_HINT}`, { cause });
}

/** Returns the error for a data directory that lacks writes which this node has acknowledged. */
export function forgot(path: string, what: string): StorageError {
  return new StorageError(
    "forgot",
    `the data directory ${path} is older than what this node has acknowledged (${what}): it was restored from a ` +
      `copy, or its disk lost writes. ${REPLACE_HINT}`,
  );
}

/** Returns the error for a data directory that cannot be written at the start. */
export function unwritable(path: string, cause: unknown): StorageError {
  if (isDiskFull(cause)) return diskFull(path, cause);
  return new StorageError(
    "unwritable",
    `the data directory ${path} cannot be written (${textOf(cause)}): check that the path is a directory, and check its permissions and the disk`,
    { cause },
  );
}

function diskFull(path: string, cause: unknown): StorageError {
  return new StorageError(
    "disk_full",
    `the file system of the data directory ${path} is full (${textOf(cause)}): free space on it, then start again`,
    { cause },
  );
}

export function writeFailed(path: string, cause: unknown): StorageError {
  if (cause instanceof StorageError) return cause;
  if (isDiskFull(cause)) return diskFull(path, cause);
  return new StorageError(
    "write_failed",
    `a write to the data directory ${path} failed (${textOf(cause)}): check the disk and its file system, then start again`,
    { cause },
  );
}

function isDiskFull(cause: unknown): boolean {
  return codeOf(cause) === "ENOSPC" || /no space left on device|disk quota exceeded/i.test(textOf(cause));
}

/** Returns the message of the cause if there is one: the binding's error has LevelDB's error as its cause. */
export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
