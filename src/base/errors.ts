/** Error type of every refusal. Its codes and their meanings are in `refusals.ts`. */

import { REFUSALS, type RefusalCode } from "./refusals.ts";

/**
 * Cause of a refusal, for lists and records that operators read. Names come from the configuration or from fixed lists,
 * never from the caller.
 */
export interface RefusalCause {
  readonly kind: "rule" | "guardrail" | "budget" | "profile" | "suspension" | "credential";
  /**
   * Name of the rule, such as `profile staff/no-previews` for a profile's rule, `provider:acme` for a suspension, or
   * the fault for a credential.
   */
  readonly name: string;
  /** Name of the budget's bucket. */
  readonly bucket?: string;
  /** Minimum and maximum of the cost units that the request needed from the budget. */
  readonly needed?: { readonly least: number; readonly most: number };
  /** Name of the key whose id is in a refused credential. */
  readonly key?: string | undefined;
  /**
   * Public id in a presented key that matches no stored key: it was revoked, or minted elsewhere. Eight letters and
   * digits.
   */
  readonly keyId?: string | undefined;
}

export interface RefusalOptions extends ErrorOptions {
  /** Request field or capability that the refusal is about; `param` in compat bodies. */
  readonly param?: string;
  /** Value of the `retry-after` header, in seconds. */
  readonly retryAfterSeconds?: number;
  /** Further facts for programs, in answers of the admin API. */
  readonly details?: unknown;
  /** Set if the caller itself is suspended, which is answered 403. Other suspensions are 503, as in the table. */
  readonly suspended?: "caller";
  /** Value of `www-authenticate`, for `unauthenticated`. RFC 9110 section 11.6.1. */
  readonly challenge?: string;
  readonly by?: RefusalCause;
}

/**
 * Error with the code of a refusal. `message` is shown to the client: never put a credential, a prompt or an upstream's
 * text in it. `cause` is logged.
 */
export class GatewayError extends Error {
  readonly code: RefusalCode;
  readonly status: number;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly details: unknown;
  readonly challenge: string | undefined;
  readonly by: RefusalCause | undefined;

  constructor(code: RefusalCode, message: string, options: RefusalOptions = {}) {
    super(message, options);
    this.name = "GatewayError";
    this.code = code;
    this.status = options.suspended === "caller" ? 403 : REFUSALS[code].status;
    this.param = options.param;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.details = options.details;
    this.challenge = options.challenge;
    this.by = options.by;
  }
}

/** Converts any thrown value to a refusal. Foreign errors become `internal`, with a text that reveals nothing of the cause. */
export function asRefusal(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError("internal", "The gateway failed to handle this request.", { cause: error });
}
