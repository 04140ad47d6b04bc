/** One GET request to an admin endpoint and its outcome. Both the wait for the head of the answer and the rest are limited. */

import {
  type AdminAddress,
  type AdminClient,
  AdminError,
  explain,
  readText,
  refusalOf,
} from "../../admin-api/index.ts";
import type { Failure } from "../model/data.ts";

type Outcome =
  | { readonly kind: "answered"; readonly text: string }
  /** The gateway answered with a refusal. */
  | { readonly kind: "refused"; readonly failure: Failure }
  | { readonly kind: "signed_out"; readonly failure: Failure }
  /** The answer is missing or incomplete. */
  | { readonly kind: "unanswered"; readonly failure: Failure }
  /** Ended by the signal. */
  | { readonly kind: "ended" };

/** Admin endpoint that is asked, with its client. */
export interface Peer {
  readonly client: AdminClient;
  readonly endpoint: AdminAddress;
}

interface ReadRequestOptions {
  readonly signal: AbortSignal;
  readonly headMs: number;
  readonly bodyMs: number;
  now(): number;
}

/** Maximum length of an error message, since a hostile endpoint controls it. */
const MAX_MESSAGE_LENGTH = 1_000;

export async function sendRead(
  { client, endpoint }: Peer,
  path: string,
  { signal, headMs, bodyMs, now }: ReadRequestOptions,
): Promise<Outcome> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  let limit: NodeJS.Timeout | undefined;
  let isLate = false;
  try {
    const answer = await client.raw("GET", path, { signal: ending.signal, timeLimitMs: headMs });
    limit = setTimeout(() => {
      isLate = true;
      end();
    }, bodyMs);
    const text = await readText(answer);
    if (answer.status >= 300) throw refusalOf(answer.status, text);
    return { kind: "answered", text };
  } catch (error) {
    if (signal.aborted) return { kind: "ended" };
    if (!(error instanceof AdminError)) throw error;
    if (isLate) {
      const message = `The answer did not end within ${bodyMs} ms.`;
      return { kind: "unanswered", failure: { status: 0, code: "timeout", message, at: now() } };
    }
    return outcomeOf(error, endpoint, now());
  } finally {
    clearTimeout(limit);
    signal.removeEventListener("abort", end);
  }
}

function outcomeOf(error: AdminError, endpoint: AdminAddress, at: number): Outcome {
  const { status, code } = error;
  const failureOf = (message: string): Failure => ({ status, code, message: message.slice(0, MAX_MESSAGE_LENGTH), at });
  const failure = failureOf(error.message);
  if (status === 401 || code === "unauthenticated") return { kind: "signed_out", failure };
  if (status === 403) return { kind: "refused", failure: { ...failure, code: "forbidden" } };
  if (status > 0) return { kind: "refused", failure };
  // The message itself does not contain the reason, which `explain` takes from the cause.
  return { kind: "unanswered", failure: failureOf(explain(error, endpoint).text) };
}
