/** Reason why an audit trail cannot be opened or has ended; the message says what to do. */

export type AuditErrorCode =
  /** The directory or a file in it cannot be read or written. */
  | "unwritable"
  /** The key or the journal is not what this node wrote. */
  | "damaged"
  /** Another process holds the directory. */
  | "locked"
  /** The worker thread ended. */
  | "worker";

export class AuditError extends Error {
  override readonly name = "AuditError";
  readonly code: AuditErrorCode;

  constructor(code: AuditErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Returns the error of a failed system call on `path`. */
export function unwritable(path: string, cause: unknown): AuditError {
  if (cause instanceof AuditError) return cause;
  const text = systemCode(cause) ?? (cause instanceof Error ? cause.message : String(cause));
  const hint =
    text === "ENOSPC" || text === "EDQUOT" || text === "EFBIG"
      ? "free space on that disk"
      : "the user of the gateway needs read and write permission there";
  return new AuditError("unwritable", `the audit trail cannot use ${path}: ${text}; ${hint}`, { cause });
}

export function systemCode(cause: unknown): string | undefined {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined;
}
