/**
 * Why a data directory cannot be used. The process ends with status 11 on one; the message names the directory, what is
 * wrong with it, and what to do. Remedies: cluster reference, section 3.3.
 */

export type StorageErrorCode =
  /** There is nothing where an existing one was named. */
  | "missing"
  /** Another process has it open. */
  | "locked"
  /** A later version of the gateway wrote it. */
  | "newer_format"
  /** It holds the state of a node of another name. */
  | "wrong_node"
  /** It belongs to a cluster of another secret. */
  | "wrong_cluster"
  /** It cannot be created or written: rights, a path through a file. */
  | "unwritable"
  /** The file system has no room left. */
  | "disk_full"
  /** What it holds is not what was written. */
  | "damaged"
  /** It is whole, and older than what this node has acknowledged. */
  | "forgot"
  /** It is whole, and from before a recovery of its cluster. */
  | "superseded"
  /** Another process runs with a copy of it. */
  | "duplicate"
  /** A write failed while running; what was being written may or may not be there after a restart. */
  | "write_failed";

export class StorageError extends Error {
  readonly code: StorageErrorCode;

  constructor(code: StorageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StorageError";
    this.code = code;
  }
}

/** Never "repair" and never "restore a copy": a node that forgets a vote or an entry can undo what others committed. */
const REPLACE =
  "Do not use it again: move it away and start this node with an empty one that joins its cluster (cluster.join); " +
  "when no majority of the cluster is left, run 'gateway cluster recover' on the survivor with the highest last term, " +
  "then the highest last index; a node that was alone is restored with 'gateway snapshot restore' into an empty one";

export function damaged(path: string, what: string, cause?: unknown): StorageError {
  return new StorageError("damaged", `the data directory ${path} is damaged (${what}). ${REPLACE}`, { cause });
}

export function forgot(path: string, what: string): StorageError {
  return new StorageError(
    "forgot",
    `the data directory ${path} is older than what this node has acknowledged (${what}): it was put back from a copy, ` +
      `or its disk lost writes. ${REPLACE}`,
  );
}

export function unwritable(path: string, cause: unknown): StorageError {
  if (isDiskFull(cause)) return diskFull(path, cause);
  return new StorageError(
    "unwritable",
    `the data directory ${path} cannot be written (${textOf(cause)}): check that the path is a directory, its rights and the disk`,
    { cause },
  );
}

export function diskFull(path: string, cause: unknown): StorageError {
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

/** The cause's own words; LevelDB's stand in the cause of what the binding throws. */
export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
