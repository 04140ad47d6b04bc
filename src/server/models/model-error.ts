/** Why a model cannot be had, as a line for an operator: no credential, no query of a signed address, bounded. */

export type ModelFault =
  /** Declared or answered in a way that cannot be: no repetition helps. */
  | "refused"
  /** A repository, revision or file that is not there. */
  | "absent"
  /** The hub wants a token, another one, or terms to be accepted. */
  | "denied"
  /** The bytes are not those of the digest or size. */
  | "mismatch"
  /** No room, or no right to write. */
  | "storage"
  /** The network, or whoever answers there: it may pass. */
  | "unreachable";

export interface ModelErrorOptions extends ErrorOptions {
  /** Of what may pass: when, in milliseconds from now, if that was said. */
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
