/** The id of a request, which its answer, its records and its log lines carry. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Snapshot } from "../snapshot/index.ts";

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;
/** A UUID, a trace id or a ULID. */
const GENERATED_ID = /^(?:[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|[\da-f]{32}|[0-7][\da-hjkmnp-tv-z]{25})$/i;

/**
 * The caller's own where it is one. Where detectors read headers, what they might find there must not stand in logs and
 * records before they have looked: then only what is written as a generated id is taken.
 */
export function requestIdOf(request: IncomingMessage, { guardrails }: Pick<Snapshot, "guardrails">): string {
  const given = request.headers["x-request-id"];
  const form = guardrails.readsHeaders ? GENERATED_ID : REQUEST_ID;
  return typeof given === "string" && form.test(given) ? given : randomUUID();
}
