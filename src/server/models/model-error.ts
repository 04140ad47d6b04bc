/**
 * Error for operators that says why a model is not available: one bounded line without credentials or queries of signed
 * addresses.
 */

export type ModelFault =
  /** Declaration or answer that is invalid; a retry does not help. */
  | "refused"
  /** Repository, revision or file does not exist. */
  | "absent"
  /** The hub requires a token, another token, or accepted terms. */
  | "denied"
  /** Bytes do not have the declared digest or size. */
  | "mismatch"
  /** No disk space, or no permission to write. */
  | "storage"
  /** Network or server failure that may be temporary. */
  | "unreachable";

interface ModelErrorOptions extends ErrorOptions {
  /** Milliseconds until a retry, if the server said so. */
  readonly retryAfterMs?: number | undefined;
}

export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly fault: ModelFault;
  readonly retryAfterMs: number | undefined;

  constructor(fault: ModelFault, message: string, options: ModelErrorOptions = {}) {
    super(message, options);
    this.fault = fault;
    this.retryAfterMs = options.retryAfterMs;
  }
}
