/**
 * Fetches a page of a report, with retries. Source: usage report APIs reference, 5.3. Error messages contain no
 * address, no header and no text of the provider, which may quote a key.
 */
import { setTimeout as pause } from "node:timers/promises";
import { anySignal, connectionErrorText, formatDuration } from "../../../base/index.ts";
import type { GuardedAnswer, GuardedRequest } from "../../credentials/index.ts";

/** Timeout of one request, including the connection, in milliseconds. */
const ANSWER_TIMEOUT_MS = 60_000;
/** Maximum number of retries in one round, over all its pages. */
export const MAX_RETRIES = 5;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** Maximum `retry-after` that is waited for; a longer one ends the round, since the next round follows anyway. */
const MAX_RETRY_AFTER_MS = 120_000;

export class ReportError extends Error {
  /** Status of the failing answer; `undefined` without a readable answer. */
  readonly status: number | undefined;
  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

export interface PageFetch {
  send(asked: GuardedRequest): Promise<GuardedAnswer>;
  /** Returns the current time, in milliseconds since 1970. It is needed for a `retry-after` that is a date. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Number of retries left. */
  retriesLeft: number;
  /** Waits; rejects with the signal's reason. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

const sleep = (ms: number, signal: AbortSignal): Promise<unknown> => pause(ms, undefined, { signal, ref: false });

/** Fetches a page and returns its JSON object. Rejects with a `ReportError`, or with the signal's reason. */
export async function fetchPage(
  url: string,
  headers: Readonly<Record<string, string>>,
  context: PageFetch,
): Promise<Readonly<Record<string, unknown>>> {
  const { send, now, signal, wait = sleep } = context;
  for (let attempt = 0; ; attempt += 1) {
    const limit = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    let lastFailure: Failure;
    try {
      const answer = await send({ method: "GET", url, headers, signal: anySignal([signal, limit]) });
      const failure = failureOf(answer, now());
      if (failure === undefined) return parseObject(answer.text);
      lastFailure = failure;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ReportError) throw error;
      const message = limit.aborted ? `no answer within ${formatDuration(ANSWER_TIMEOUT_MS)}` : messageOf(error);
      lastFailure = { message, isRetryable: true, retryAfterMs: undefined };
    }
    const { message, isRetryable, retryAfterMs, status } = lastFailure;
    if (!isRetryable) throw new ReportError(message, status);
    if (retryAfterMs !== undefined && retryAfterMs > MAX_RETRY_AFTER_MS) {
      throw new ReportError(`${message}, and asks for no requests for ${formatDuration(Math.ceil(retryAfterMs))}`);
    }
    if (context.retriesLeft <= 0) throw new ReportError(`${message}, after ${MAX_RETRIES} retries`);
    context.retriesLeft -= 1;
    await wait(retryAfterMs ?? Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt), signal);
  }
}

interface Failure {
  readonly message: string;
  readonly isRetryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly status?: number;
}

function failureOf({ status, headers }: GuardedAnswer, nowMs: number): Failure | undefined {
  if (status === 200) return undefined;
  const final = (message: string): Failure => ({
    message: `the report answers ${status}: ${message}`,
    isRetryable: false,
    retryAfterMs: undefined,
    status,
  });
  if (status === 429 || status >= 500) {
    const retryAfterMs = parseRetryAfter(headers["retry-after"], nowMs);
    return { message: `the report answers ${status}`, isRetryable: true, retryAfterMs };
  }
  if (status === 401) return final("`admin_key` is refused; it must be an organization's administrator key");
  if (status === 403) return final("`admin_key` has no permission to read usage reports");
  if (status === 404) return final("there is no usage report at `base_url`");
  if (status === 410) return final("its cursor has expired");
  if (status >= 300 && status < 400)
    return final("it answers with a redirect, which is not followed; check `base_url`");
  return final("the query is refused; check `api_key_ids` and `type`");
}

/** Parses a `retry-after`, which is a number of seconds or a date. Returns milliseconds. */
function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}(?:\.\d+)?$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

/** Returns the message of an error. Messages of the dialer contain no address; others may quote what was sent. */
function messageOf(error: unknown): string {
  const reason = connectionErrorText(error);
  if (reason !== undefined) {
    return reason.startsWith("UND_ERR_INVALID_ARG") ? "`admin_key` cannot be sent in a header" : reason;
  }
  return error instanceof Error && /^(?:its|it) [a-z0-9 ,.-]+$/.test(error.message)
    ? error.message
    : "the request failed";
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below, with other answers that are not reports.
  }
  throw new ReportError("the report is not a JSON object");
}
