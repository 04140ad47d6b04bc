/** Determines the id of a request, which appears in its answer, records and log lines. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Snapshot } from "../snapshot/index.ts";

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;
/** Matches a UUID, trace id or ULID. */
const GENERATED_ID = /^(?:[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|[\da-f]{32}|[0-7][\da-hjkmnp-tv-z]{25})$/i;

/**
 * Returns the caller's `x-request-id` if it is valid, otherwise a new id. If detectors read headers, only values with the form
 * of a generated id are accepted: other text must not reach logs and records before it was inspected.
 */
export function requestIdOf(request: IncomingMessage, { guardrails }: Pick<Snapshot, "guardrails">): string {
  const clientId = request.headers["x-request-id"];
  const form = guardrails.readsHeaders ? GENERATED_ID : REQUEST_ID;
  return typeof clientId === "string" && form.test(clientId) ? clientId : randomUUID();
}
