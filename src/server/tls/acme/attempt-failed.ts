/** Failure of an attempt: reason for the metric, message for operators, and what happens to the order. */

import { systemErrorText } from "./bounded-text.ts";
import type { FailureReason } from "./certificate-record.ts";

export class AttemptFailed extends Error {
  readonly reason: FailureReason;
  /** Whether the order can be continued later. */
  readonly keepsOrder: boolean;
  /** Time at which the server wants the next request, in milliseconds since 1970. */
  readonly retryAt: number | undefined;
  /** Whether the account does not exist at the authority and must be registered again. */
  readonly losesAccount: boolean;

  constructor(
    reason: FailureReason,
    message: string,
    options: {
      readonly keepsOrder?: boolean;
      readonly retryAt?: number | undefined;
      readonly losesAccount?: boolean;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "AttemptFailed";
    this.reason = reason;
    this.keepsOrder = options.keepsOrder ?? false;
    this.retryAt = options.retryAt;
    this.losesAccount = options.losesAccount ?? false;
  }
}

/**
 * Builds the failure for a server that could not be reached; the order continues later. `what`: such as `the authority at
 * https://…`.
 */
export const unreachable = (reason: FailureReason, what: string, cause: unknown): AttemptFailed =>
  new AttemptFailed(reason, `${what} cannot be reached: ${systemErrorText(cause)}`, { keepsOrder: true, cause });
