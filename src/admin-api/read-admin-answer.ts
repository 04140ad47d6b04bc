/** Reads answers of the admin API completely, up to a limit; refusals reject with the gateway's message. */

import { AdminError } from "./admin-error.ts";
import type { AdminAnswer } from "./admin-transport.ts";

/** Maximum size of an answer, in bytes; a list of 100,000 keys is some 40 MB. */
const MAX_ANSWER_BYTES = 256 << 20;

export async function readText({ status, body }: AdminAnswer): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) {
      throw new AdminError(status, "unintelligible", `The answer is longer than ${MAX_ANSWER_BYTES} bytes.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Rejects with the gateway's error if the answer is a refusal. */
export async function throwIfRefused(answer: AdminAnswer): Promise<void> {
  if (answer.status >= 400) throw refusalOf(answer.status, await readText(answer));
}

/** Returns the JSON of a successful answer; rejects with the refusal otherwise. */
export async function readJson(answer: AdminAnswer): Promise<unknown> {
  await throwIfRefused(answer);
  const body = await readText(answer);
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw notJsonError(answer.status, cause);
  }
}

/** Parses a refusal. `status` is 300 or above. Returns the API's error, or a generic one if the body is not the API's. */
export function refusalOf(status: number, body: string): AdminError {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch (cause) {
    return notJsonError(status, cause);
  }
  if (isDataPlaneNotFound(status, parsed)) {
    return new AdminError(status, "unintelligible", "This is the address for clients of models, not the admin API.");
  }
  const { error } = (parsed ?? {}) as { readonly error?: { code?: unknown; message?: unknown; details?: unknown } };
  if (typeof error?.code !== "string" || typeof error.message !== "string") {
    return new AdminError(status, "unintelligible", `The answer (${status}) is not an error of the admin API.`);
  }
  return new AdminError(status, error.code, error.message, { details: error.details });
}

/**
 * Returns whether the data plane of a gateway answered a path of the admin API. Its errors have a type, as those of the providers,
 * and errors of the admin API have none.
 */
export function isDataPlaneNotFound(status: number, body: unknown): boolean {
  const { error } = (body ?? {}) as { readonly error?: { code?: unknown; type?: unknown } | null };
  return status === 404 && error?.code === "not_found" && typeof error.type === "string";
}

function notJsonError(status: number, cause: unknown): AdminError {
  return new AdminError(status, "unintelligible", `The answer (${status}) is not JSON.`, { cause });
}
