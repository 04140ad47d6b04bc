/**
 * Fetches a page of a report, with retries. Source: usage report APIs reference, 5.3. Error messages contain no
 * address, no header and no text of the provider, which may quote a key.
 */
import { setTimeout as pause } from "node:timers/promises";
import { anySignal, connectionErrorText, formatDuration } from "../../../base/index.ts";
import type { GuardedAnswer, GuardedRequest } from "../../credentials/index.ts";

/** Timeout of one request, including the connection, in milliseconds. */
const ANSWER_LIMIT_MS = 60_000;
/** Maximum number of retries in one round, over all its pages. */
export const MAX_REPEATS = 5;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** Maximum `retry-after` that is waited for; a longer one ends the round, since the next round follows anyway. */
const MAX_RETRY_AFTER_MS = 120_000;

export class ReportFault extends Error {
  /** Status of the failing answer; `undefined` without a readable answer. */
  readonly status: number | undefined;
  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

export interface Asking {
  send(asked: GuardedRequest): Promise<GuardedAnswer>;
  /** Returns the current time, in milliseconds since 1970. It is needed for a `retry-after` that is a date. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Number of retries left. */
  repeats: number;
  /** Waits; rejects with the signal's reason. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

const waitFor = (ms: number, signal: AbortSignal): Promise<unknown> => pause(ms, undefined, { signal, ref: false });

/** Fetches a page and returns its JSON object. Rejects with a `ReportFault`, or with the signal's reason. */
export async function askPage(
  url: string,
  headers: Readonly<Record<string, string>>,
  asking: Asking,
): Promise<Readonly<Record<string, unknown>>> {
  const { send, now, signal, wait = waitFor } = asking;
  for (let attempt = 0; ; attempt += 1) {
    const limit = AbortSignal.timeout(ANSWER_LIMIT_MS);
    let lastFailure: Failure;
    try {
      const answer = await send({ method: "GET", url, headers, signal: anySignal([signal, limit]) });
      const failure = failureOf(answer, now());
      if (failure === undefined) return objectIn(answer.text);
      lastFailure = failure;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ReportFault) throw error;
      const words = limit.aborted ? `no answer within ${formatDuration(ANSWER_LIMIT_MS)}` : wordsOf(error);
      lastFailure = { words, mayRepeat: true, retryAfterMs: undefined };
    }
    const { words, mayRepeat, retryAfterMs, status } = lastFailure;
    if (!mayRepeat) throw new ReportFault(words, status);
    if (retryAfterMs !== undefined && retryAfterMs > MAX_RETRY_AFTER_MS) {
      throw new ReportFault(`${words}, and asks for no requests for ${formatDuration(Math.ceil(retryAfterMs))}`);
    }
    if (asking.repeats <= 0) throw new ReportFault(`${words}, after ${MAX_REPEATS} repeats`);
    asking.repeats -= 1;
    await wait(retryAfterMs ?? Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt), signal);
  }
}

interface Failure {
  readonly words: string;
  readonly mayRepeat: boolean;
  readonly retryAfterMs: number | undefined;
  readonly status?: number;
}

function failureOf({ status, headers }: GuardedAnswer, nowMs: number): Failure | undefined {
  if (status === 200) return undefined;
  const final = (words: string): Failure => ({
    words: `the report answers ${status}: ${words}`,
    mayRepeat: false,
    retryAfterMs: undefined,
    status,
  });
  if (status === 429 || status >= 500) {
    const retryAfterMs = retryAfterIn(headers["retry-after"], nowMs);
    return { words: `the report answers ${status}`, mayRepeat: true, retryAfterMs };
  }
  if (status === 401) return final("`admin_key` is refused; it must be an organisation's administrator key");
  if (status === 403) return final("`admin_key` has no permission to read usage reports");
  if (status === 404) return final("there is no usage report at `base_url`");
  if (status === 410) return final("its cursor has expired");
  if (status >= 300 && status < 400)
    return final("it answers with a redirect, which is not followed; check `base_url`");
  return final("the query is refused; check `api_key_ids` and `type`");
}

/** Parses a `retry-after`, which is a number of seconds or a date. Returns milliseconds. */
function retryAfterIn(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}(?:\.\d+)?$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

/** Returns the message of an error. Messages of the dialer contain no address; others may quote what was sent. */
function wordsOf(error: unknown): string {
  const reason = connectionErrorText(error);
  if (reason !== undefined) {
    return reason.startsWith("UND_ERR_INVALID_ARG") ? "`admin_key` cannot be sent in a header" : reason;
  }
  return error instanceof Error && /^(?:its|it) [a-z0-9 ,.-]+$/.test(error.message)
    ? error.message
    : "the request failed";
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below, with other answers that are not reports.
  }
  throw new ReportFault("the report is not a JSON object");
}
