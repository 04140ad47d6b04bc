/**
 * Ends a `responses` stream as a failure. Source: responses reference, 1 (6) and 7.5.
 *
 * Two events are sent, and the first has two forms at once: some clients know only one form of `error`, some only
 * `response.failed`. After a stream that ends without either, clients request the whole turn again.
 */
import type { Values } from "../../json/json-values.ts";
import { eventFrame } from "./event-log.ts";
import type { Failure } from "./response-object.ts";

/** Data that the stream of a response has sent so far. */
export interface ResponseStamp {
  /** Response as it was last sent, for example in `response.created`. */
  readonly response: Values;
  /** Sequence number of the next event. */
  readonly sequence: number;
}

/**
 * Returns the last frames of a stream that the gateway ends itself. No item is repeated, since an item may be the reason for
 * the end. `stamp` is `undefined` if nothing was sent to the client yet.
 */
export function responsesFailure(failure: Failure, stamp?: ResponseStamp): string {
  const { response = { object: "response" }, sequence = 0 } = stamp ?? {};
  const { code, message } = failure;
  const failed = JSON.stringify({ ...response, status: "failed", error: { code, message }, output: [], usage: null });
  return failureFrames(failure, failed, sequence);
}

/**
 * Returns the last frame of a stream whose answer a guardrail denies, in the form in which the API reports filtered content, so
 * that an agent does not retry. No item is repeated. `requestId` is the gateway's own.
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

/** Returns the frames of a failure. `response` is the JSON text of the failed response. */
export function failureFrames({ code, message }: Failure, response: string, sequence: number): string {
  const fields = { code, message, param: null };
  const members = JSON.stringify({ ...fields, error: { type: code, ...fields } }).slice(1, -1);
  return (
    eventFrame("error", `${members},`, sequence) +
    eventFrame("response.failed", `"response":${response},`, sequence + 1)
  );
}
