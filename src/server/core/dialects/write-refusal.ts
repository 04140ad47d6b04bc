/** Writes the gateway's own refusals in the shape of either dialect, so that official SDKs raise their typed errors. */
import type { GatewayError } from "../../../base/index.ts";
import { REFUSALS } from "../../../base/index.ts";
import type { Dialect } from "./routes/routes.ts";
import { type ResponseStamp, responsesFailure, responsesFiltered } from "./translate/to-responses/response-failure.ts";

const MESSAGES_TYPES: ReadonlyMap<number, string> = new Map([
  [401, "authentication_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [503, "overloaded_error"],
  [504, "timeout_error"],
]);

const COMPAT_TYPES: ReadonlyMap<number, string> = new Map([
  [401, "authentication_error"],
  [429, "rate_limit_error"],
  [503, "service_unavailable_error"],
]);

/** Returns the JSON text of the body of a refusal. */
export function refusalBody(dialect: Dialect, error: GatewayError, requestId: string): string {
  if (dialect === "messages") {
    const details = { error_code: error.code, ...(error.param !== undefined && { param: error.param }) };
    const shown = { type: messagesErrorType(error.status), message: error.message, code: error.code, details };
    return JSON.stringify({ type: "error", error: shown, request_id: requestId });
  }
  const type = compatErrorType(error);
  return JSON.stringify({ error: { message: error.message, type, param: error.param ?? null, code: error.code } });
}

/**
 * Returns the `error.type` of the compat dialect. A spent budget has the type of a spent quota: after a `rate_limit_error` some
 * agents wait as long as `retry-after` says, which is hours, without showing the message.
 */
function compatErrorType({ code, status }: GatewayError): string {
  if (code === "budget_exhausted") return "insufficient_quota";
  return COMPAT_TYPES.get(status) ?? (status >= 500 ? "server_error" : "invalid_request_error");
}

/** Fields of a compat stream's chunks that its last chunk repeats. */
export interface ChunkStamp {
  readonly id: string;
  /** Type of the chunks: `chat.completion.chunk` or `text_completion`. */
  readonly object: string;
  /** Creation time in seconds since 1970. */
  readonly created: number;
  readonly model: string;
  /** Indexes of the choices in progress. */
  readonly choices: readonly number[];
}

/** Data of a stream that its last event repeats. */
export type StreamStamp = ChunkStamp | ResponseStamp;

/**
 * Returns the refusal as the last event of a stream that has begun. It has no `[DONE]` and no invented stop reason. If a
 * guardrail denies the answer, the choices of `stamp` end as filtered, in the form of the dialect. Source: design decisions,
 * section 11, Deny.
 */
export function refusalEvent(dialect: Dialect, error: GatewayError, requestId: string, stamp?: StreamStamp): string {
  if (stamp !== undefined && "response" in stamp) {
    return error.code === "guardrail_denied"
      ? responsesFiltered(error, requestId, stamp)
      : responsesFailure(error, stamp);
  }
  if (dialect === "compat" && error.code === "guardrail_denied" && stamp !== undefined) {
    return `data: ${filteredChunk(error, requestId, stamp)}\n\ndata: [DONE]\n\n`;
  }
  return errorFrame(dialect, refusalBody(dialect, error, requestId));
}

function filteredChunk(error: GatewayError, requestId: string, { choices, ...stamp }: ChunkStamp): string {
  const content = stamp.object === "text_completion" ? { text: "" } : { delta: {} };
  const indexes = choices.length === 0 ? [0] : choices;
  return JSON.stringify({
    ...stamp,
    choices: indexes.map((index) => ({ index, ...content, logprobs: null, finish_reason: "content_filter" })),
    gateway: { code: error.code, message: error.message, request_id: requestId },
  });
}

/**
 * Returns the refusal as an event of a session, to be sent before it is closed. `routeName` is the route of its handshake.
 * Source: dialects reference, section 4.1.
 */
export function refusalMessage(routeName: string, error: GatewayError, requestId: string): string {
  const base = (JSON.parse(refusalBody("compat", error, requestId)) as { readonly error: object }).error;
  if (routeName !== "realtime") return JSON.stringify({ ...base, type: "error", status: error.status, error: base });
  return JSON.stringify({ type: "error", event_id: `event_${requestId}`, error: { ...base, event_id: null } });
}

/** Returns the stream event of an error. `body` is JSON text of one line. */
export function errorFrame(dialect: Dialect, body: string): string {
  return `${dialect === "messages" ? "event: error\n" : ""}data: ${body}\n\n`;
}

/** Returns the `error.type` of the messages dialect for an HTTP status. */
export function messagesErrorType(status: number): string {
  return MESSAGES_TYPES.get(status) ?? (status >= 500 ? "api_error" : "invalid_request_error");
}

/** Returns the headers of a refusal, which are the same for both dialects. */
export function refusalHeaders(error: GatewayError, requestId: string): string[] {
  const headers = ["x-gateway-request-id", requestId, "x-request-id", requestId, "request-id", requestId];
  if (!REFUSALS[error.code].mayRetry) headers.push("x-should-retry", "false");
  if (error.challenge !== undefined) headers.push("www-authenticate", error.challenge);
  if (error.retryAfterSeconds !== undefined) headers.push("retry-after", String(error.retryAfterSeconds));
  return headers;
}
