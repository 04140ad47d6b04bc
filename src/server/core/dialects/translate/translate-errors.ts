/**
 * Translates a provider's error to the client's dialect. Source: dialects reference, 10.1 and 10.2.
 *
 * The status is kept. The error type follows from the status, not from the type in the other dialect; only the types of the
 * messages dialect are more specific than a status. The client sees the message, the code and the field of the provider's
 * error. A body that is not JSON is usually a proxy's error page, and is not shown.
 */

import { listOf, objectOf, stringOf, tryParseJson, type Values } from "../json/json-values.ts";
import type { Dialect } from "../routes/routes.ts";
import { errorFrame, messagesErrorType } from "../write-refusal.ts";
import { eventsOf, isEventText } from "./chat-answers/normalize-chat-answer.ts";

/** Maximum length of a message in UTF-8 bytes, including the mark of a cut. */
const MAX_MESSAGE_BYTES = 4_096;
const CUT = "…";

/** Maximum depth at which a message is searched; `{"error":[{"message":…}]}` is the deepest known form. */
const MAX_DEPTH = 4;

/** Members with a message, or with an object that has one, the most likely first. */
const MESSAGES: readonly string[] = [
  ...["error", "message", "detail", "msg", "errors", "error_msg", "error_message", "base_resp", "status_msg"],
];

const CONTROLS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g;

/** Phrase by which clients of the messages dialect recognize a conversation that is too long, and shorten it. */
const CONTEXT_CODE = "context_length_exceeded";
const CONTEXT_WORDS = "prompt is too long";

const NO_ERROR_MESSAGE = "The provider ended its answer with an error.";

/** Pattern of codes and of paths of fields, which prose does not match. */
const TOKEN = /^[\w.:[\]-]{1,128}$/;

/** Error types for statuses that only providers use. */
const PROVIDER_TYPES: ReadonlyMap<number, string> = new Map([
  [402, "billing_error"],
  [409, "conflict_error"],
  [529, "overloaded_error"],
]);

interface CompatKind {
  readonly type: string;
  readonly code: string | null;
}

const INVALID: CompatKind = { type: "invalid_request_error", code: null };
const SERVER: CompatKind = { type: "server_error", code: null };

/** Compat error types and codes by the error type of the messages dialect. */
const COMPAT_KINDS: ReadonlyMap<unknown, CompatKind> = new Map([
  ["invalid_request_error", INVALID],
  ["authentication_error", { type: "invalid_request_error", code: "invalid_api_key" }],
  ["billing_error", { type: "insufficient_quota", code: "insufficient_quota" }],
  ["permission_error", { type: "invalid_request_error", code: "permission_denied" }],
  ["not_found_error", { type: "invalid_request_error", code: "model_not_found" }],
  ["conflict_error", { type: "invalid_request_error", code: "conflict" }],
  ["request_too_large", INVALID],
  ["rate_limit_error", { type: "rate_limit_error", code: "rate_limit_exceeded" }],
  ["overloaded_error", { type: "service_unavailable_error", code: "server_is_overloaded" }],
  ["api_error", SERVER],
  ["timeout_error", SERVER],
]);

/** Messages types by the error type of the compat dialect, where they differ. */
const MESSAGES_TYPES: ReadonlyMap<unknown, string> = new Map([
  ["insufficient_quota", "billing_error"],
  ["tokens", "rate_limit_error"],
  ["requests", "rate_limit_error"],
  ["service_unavailable_error", "overloaded_error"],
  ["timeout", "timeout_error"],
]);

/** Provider's error, taken out of its envelope. Members may be missing or of any type. */
interface ProviderError {
  readonly error: Values;
  readonly message: string | undefined;
}

/** Translates an error. `error.body` is the provider's, of any form. `requestId` is the gateway's own. */
export function translateError(
  to: Dialect,
  error: { readonly status: number; readonly body: string; readonly requestId: string },
): { readonly status: number; readonly body: string } {
  const { status, requestId } = error;
  const found = errorIn(tryParseJson(error.body) ?? firstEvent(error.body));
  const message = found.message ?? `The provider answered with status ${status} and no message that can be shown.`;
  const type = to === "messages" ? typeOfStatus(status) : (namedType(found.error) ?? typeOfStatus(status));
  return { status, body: errorBody(to, { type, message, requestId, error: found.error }) };
}

/** Returns the parsed data of the first event, since some servers answer a streaming request with a stream whatever the status. */
const firstEvent = (body: string): unknown =>
  isEventText(body) ? tryParseJson(eventsOf(body).data[0] ?? "") : undefined;

/**
 * Returns the data of an error event, parsed, or as text if it is not JSON: some proxies only write a sentence. A web page is
 * not shown.
 */
export const parseErrorData = (data: string): unknown => tryParseJson(data) ?? (/^\s*</.test(data) ? undefined : data);

/** Returns the frame of an error that occurred within a stream and ends it. `data` is the parsed data of the provider's event. */
export function translateErrorEvent(to: Dialect, data: unknown, requestId: string): string {
  const { error, message = NO_ERROR_MESSAGE } = errorIn(data);
  return errorFrame(to, errorBody(to, { type: typeOfEvent(error), message, requestId, error }));
}

/** Codes of a failed response, if the provider's error has none. */
const FAILURE_CODES: ReadonlyMap<string, string> = new Map([
  // These errors must not be retried unchanged, and agents retry unknown codes.
  ["invalid_request_error", "invalid_prompt"],
  ["request_too_large", CONTEXT_CODE],
]);

/**
 * Returns the error of a response for an error that occurred within a stream. `data` is the parsed data of the provider's
 * event. Source: responses reference, 7.5.
 */
export function failureOf(data: unknown): { readonly code: string; readonly message: string } {
  const { error, message = NO_ERROR_MESSAGE } = errorIn(data);
  const type = typeOfEvent(error);
  if (isTooLong(message)) return { code: CONTEXT_CODE, message };
  const kind = COMPAT_KINDS.get(type) ?? SERVER;
  return { code: tokenOf(error.code) ?? FAILURE_CODES.get(type) ?? kind.code ?? kind.type, message };
}

function isTooLong(message: string): boolean {
  return message.toLowerCase().includes(CONTEXT_WORDS);
}

interface ShownError {
  /** Error type of the messages dialect. */
  readonly type: string;
  readonly message: string;
  readonly requestId: string;
  readonly error: Values;
}

function errorBody(to: Dialect, { type, message, requestId, error }: ShownError): string {
  if (to === "messages") {
    const code = tokenOf(error.code);
    const param = tokenOf(error.param);
    const details = { ...(code !== undefined && { error_code: code }), ...(param !== undefined && { param }) };
    const shown = {
      type,
      message: code === CONTEXT_CODE ? `${CONTEXT_WORDS}: ${message}` : message,
      ...((code ?? param) !== undefined && { details }),
    };
    return JSON.stringify({ type: "error", error: shown, request_id: requestId });
  }
  const kind = COMPAT_KINDS.get(type) ?? SERVER;
  const param = tokenOf(error.param) ?? tokenOf(objectOf(error.details)?.param) ?? null;
  const code = tokenOf(error.code) ?? (isTooLong(message) ? CONTEXT_CODE : kind.code);
  return JSON.stringify({ error: { message, type: kind.type, param, code } });
}

function typeOfStatus(status: number): string {
  return PROVIDER_TYPES.get(status) ?? messagesErrorType(status);
}

/** Returns the error type of the messages dialect, or `undefined` if the provider names none of its types. */
function knownType(error: Values): string | undefined {
  return COMPAT_KINDS.has(error.type) ? stringOf(error.type) : undefined;
}

/** Returns the error type of the messages dialect, like `knownType`; also converts types of the compat dialect. */
function namedType(error: Values): string | undefined {
  return knownType(error) ?? MESSAGES_TYPES.get(error.type);
}

/**
 * Returns the error type of an event. Some compat providers put the status that the error should have had into its code or
 * status.
 */
function typeOfEvent(error: Values): string {
  const status = [error.code, error.status].find(isStatus);
  return namedType(error) ?? (status === undefined ? "api_error" : typeOfStatus(status));
}

function isStatus(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 400 && value <= 599;
}

/**
 * Finds the error in its envelope: `{error:{…}}`, `{error:"…"}`, `{detail}`, `{message}`, an error of a choice, a bare text,
 * and a list of any.
 */
function errorIn(value: unknown): ProviderError {
  const outer = objectOf(Array.isArray(value) ? listOf(value)[0] : value) ?? {};
  const ofChoice = objectOf(listOf(outer.choices)[0])?.error;
  const error = objectOf(outer.error) ?? objectOf(ofChoice) ?? objectOf(outer.base_resp) ?? outer;
  return { error, message: messageIn(value, MAX_DEPTH) ?? messageIn(ofChoice, MAX_DEPTH) };
}

function messageIn(value: unknown, depth: number): string | undefined {
  if (typeof value === "string") return shownText(value);
  if (depth === 0) return undefined;
  if (Array.isArray(value)) return messageIn(listOf(value)[0], depth - 1);
  const holder = objectOf(value);
  if (holder === undefined) return undefined;
  for (const inner of MESSAGES.map((name) => holder[name])) {
    const message = messageIn(inner, depth - 1);
    if (message !== undefined) return message;
  }
  return undefined;
}

/** Returns the text in a form that is safe to show, or `undefined` if nothing is left of it. */
function shownText(text: string): string | undefined {
  // A text within the limit in bytes has at most as many code units, so the rest is skipped.
  const clean = text
    .slice(0, MAX_MESSAGE_BYTES + 1)
    .replaceAll(CONTROLS, " ")
    .trim()
    .toWellFormed();
  if (clean === "") return undefined;
  if (text.length <= MAX_MESSAGE_BYTES && Buffer.byteLength(clean) <= MAX_MESSAGE_BYTES) return clean;
  const room = new Uint8Array(MAX_MESSAGE_BYTES - Buffer.byteLength(CUT));
  return `${clean.slice(0, new TextEncoder().encodeInto(clean, room).read)}${CUT}`;
}

function tokenOf(value: unknown): string | undefined {
  return typeof value === "string" && TOKEN.test(value) ? value : undefined;
}
