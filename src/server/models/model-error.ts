/** Why a model cannot be had, as a line for an operator: no credential, no query of a signed address, bounded. */

export type ModelFault =
  /** Declared or answered in a way that cannot be: no repetition helps. */
  | "refused"
  /** A repository, revision or file that is not there. */
  | "absent"
  /** The hub requires a token, another token, or accepted terms. */
  | "denied"
  /** The bytes are not those of the digest or size. */
  | "mismatch"
  /** No disk space, or no permission to write. */
  | "storage"
  /** Network or server failure that may pass. */
  | "unreachable";

export interface ModelErrorOptions extends ErrorOptions {
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
