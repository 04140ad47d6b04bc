/** Errors of admin API calls. */

interface AdminErrorOptions extends ErrorOptions {
  /** Details as the API returned them; their form depends on the code. */
  readonly details?: unknown;
}

/** Marks instances. It is global, since the build puts a copy of this class into the console's bundle. */
const MARK = Symbol.for("gateway.AdminError");

/**
 * Error of a call. `status` and `code` are those of the answer. Without an answer, `status` is 0 and `code` is `unreachable`
 * (no connection, or a broken one), `timeout`, `aborted`, or `unauthenticated` (a sign-in that yields no token; the cause is
 * its own error). `unintelligible` is an answer that does not come from the admin API, whatever its status.
 */
export class AdminError extends Error {
  /** Recognizes instances of all copies of this class. */
  static override [Symbol.hasInstance](value: unknown): value is AdminError {
    return typeof value === "object" && value !== null && MARK in value;
  }

  readonly [MARK] = true;
  readonly status: number;
  readonly code: string;
  readonly details: unknown;

  constructor(status: number, code: string, message: string, options: AdminErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AdminError";
    this.status = status;
    this.code = code;
    this.details = options.details;
  }
}
