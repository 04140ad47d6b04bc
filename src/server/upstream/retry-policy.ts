/**
 * Decides after a failed attempt: retry at the same provider after a wait, failover to the next one, or return the failure.
 *
 * Source: specification document 3, `retry` and `failover`. Retries are exhausted before failover. The wait after a 429 is
 * exactly its `retry-after`; if that exceeds the cap, there is no retry. No wait exceeds the request's own deadline.
 */
import type { RetryPolicy, Trigger } from "./provider.ts";

interface Failure {
  readonly trigger: Trigger;
  /** Wait that a 429 requested, in milliseconds. */
  readonly retryAfterMs: number | undefined;
}

export type NextStep =
  | { readonly kind: "retry"; readonly waitMs: number }
  | { readonly kind: "next" }
  | { readonly kind: "answer" };

export interface RetryState {
  readonly retry: RetryPolicy | undefined;
  /** Number of retries so far at this provider. */
  readonly retries: number;
  /** Failover triggers of the provider that the request addresses. */
  readonly failoverWhen: ReadonlySet<Trigger> | undefined;
  /** Returns whether there is a further candidate. It is called only before a failover, because the check may write a record. */
  readonly hasNext: () => boolean;
  /** Milliseconds until the request's deadline; infinite if it has none. */
  readonly remainingMs: number;
  /** Random number, uniform in [0, 1). */
  readonly random: number;
}

export function nextStep(failure: Failure, state: RetryState): NextStep {
  const { retry } = state;
  if (retry !== undefined && state.retries < retry.attempts && retry.when.has(failure.trigger)) {
    const waitMs = retryDelayMs(failure, retry, state);
    if (waitMs !== undefined && waitMs < state.remainingMs) return { kind: "retry", waitMs };
  }
  if (state.failoverWhen?.has(failure.trigger) === true && state.hasNext()) return { kind: "next" };
  return { kind: "answer" };
}

function retryDelayMs(failure: Failure, retry: RetryPolicy, state: RetryState): number | undefined {
  if (failure.retryAfterMs !== undefined) {
    return failure.retryAfterMs <= retry.retryAfterCapMs ? failure.retryAfterMs : undefined;
  }
  const doubled = Math.min(retry.backoffMs * 2 ** state.retries, retry.maxBackoffMs);
  return doubled * (0.5 + state.random / 2); // At least half of the wait is kept, so that a retry is never immediate.
}

/**
 * Returns the trigger of a first-byte timeout. It counts as unreachable if neither policy has a `timeout` trigger (document 1,
 * errors).
 */
export function timeoutTrigger(
  retry: RetryPolicy | undefined,
  failoverWhen: ReadonlySet<Trigger> | undefined,
): Trigger {
  return retry?.when.has("timeout") === true || failoverWhen?.has("timeout") === true ? "timeout" : "connect";
}

/**
 * Reads `retry-after-ms`, otherwise `retry-after` in seconds or as a date (RFC 9110, section 10.2.3). A date is compared with the
 * answer's own `date`, or with `nowMs` (milliseconds since 1970) if there is none.
 */
export function retryAfterMs(headers: ReadonlyMap<string, string>, nowMs: number): number | undefined {
  const exact = headers.get("retry-after-ms");
  if (exact !== undefined && /^\d+(\.\d+)?$/.test(exact)) return Number(exact);
  const value = headers.get("retry-after");
  if (value === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1_000;
  // Every form of a date has a time. Without this check `Date.parse` takes other texts, such as `-5`, for a day long past.
  if (!/\d:\d\d/.test(value)) return undefined;
  const until = Date.parse(value);
  const sentAt = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(until) ? undefined : Math.max(0, until - (Number.isNaN(sentAt) ? nowMs : sentAt));
}
