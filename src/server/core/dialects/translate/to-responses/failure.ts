/**
 * How a stream of responses ends as a failure. Source: responses reference, 1 (6) and 7.5.
 *
 * Two events, the first in two forms at once: of the clients, some know only one form of `error`, some only
 * `response.failed`, and what ends without either is asked for again as a whole turn.
 */
import type { Values } from "../../values.ts";
import { eventFrame } from "./event-log.ts";
import type { Failure } from "./response-object.ts";

/** What a stream has told of its response so far. */
export interface ResponseStamp {
  /** As it was told last: the one of `response.created`, say. */
  readonly response: Values;
  /** Of the next event. */
  readonly sequence: number;
}

/**
 * The last frames of a stream that the gateway ends itself. No item is repeated, since what ends the stream may be what
 * was in one. `stamp`: undefined where the client was told nothing yet.
 */
export function responsesFailure(failure: Failure, stamp?: ResponseStamp): string {
  const { response = { object: "response" }, sequence = 0 } = stamp ?? {};
  const { code, message } = failure;
  const failed = JSON.stringify({ ...response, status: "failed", error: { code, message }, output: [], usage: null });
  return failureFrames(failure, failed, sequence);
}

/**
 * The last frame of a stream whose answer a guardrail denies, as the API tells what was filtered: an agent does not ask
 * for it again. No item is repeated. `requestId`: the gateway's own.
 */
export function responsesFiltered({ code, message }: Failure, requestId: string, stamp: ResponseStamp): string {
  const filtered = JSON.stringify({
    ...stamp.response,
    status: "incomplete",
    incomplete_details: { reason: "content_filter" },
    output: [],
    usage: null,
    gateway: { code, message, request_id: requestId },
  });
  return eventFrame("response.incomplete", `"response":${filtered},`, stamp.sequence);
}

/** `response`: JSON text of the response that failed. */
export function failureFrames({ code, message }: Failure, response: string, sequence: number): string {
  const told = { code, message, param: null };
  const members = JSON.stringify({ ...told, error: { type: code, ...told } }).slice(1, -1);
  return (
    eventFrame("error", `${members},`, sequence) +
    eventFrame("response.failed", `"response":${response},`, sequence + 1)
  );
}
