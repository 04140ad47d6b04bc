/** Why a data directory cannot be used. The process ends with status 11 on one; the message says what to do about it. */

export type StorageErrorCode =
  /** Another process has it open. */
  | "locked"
  /** A later version of the gateway wrote it. */
  | "newer_format"
  /** It holds the state of a node of another name. */
  | "wrong_node"
  /** It cannot be created or written: rights, a full disk, a path through a file. */
  | "unwritable"
  /** What it holds is not what was written. */
  | "damaged";

export class StorageError extends Error {
  readonly code: StorageErrorCode;

  constructor(code: StorageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StorageError";
    this.code = code;
  }
}
