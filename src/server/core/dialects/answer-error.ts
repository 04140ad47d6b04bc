/**
 * Recognizes an error that a provider sent as an answer: with status 200, or as the first event of a stream. Determines the
 * status that the error should have had. Source: dialects reference, 10.1; shapes seen at compat hosts.
 */
import { listOf, objectOf, stringOf, tryParseJson, type Values } from "./json/json-values.ts";

interface AnswerError {
  /** HTTP status that the error should have had, 400 to 599. */
  readonly status: number;
}

/** Status of an error that names neither a status nor a known error type. */
const UNKNOWN_STATUS = 502;

/** Statuses by the type, code or status text of an error, in lower case. */
const STATUS_BY_ERROR_NAME: ReadonlyMap<string, number> = new Map([
  ["invalid_request_error", 400],
  ["invalid_request", 400],
  ["invalid_argument", 400],
  ["invalid_prompt", 400],
  ["badrequesterror", 400],
  ["bad_request", 400],
  ["failed_precondition", 400],
  ["context_length_exceeded", 400],
  ["content_filter", 400],
  ["validationexception", 400],
  ["unsupported_parameter", 400],
  ["unsupported_value", 400],
  ["authentication_error", 401],
  ["authenticationerror", 401],
  ["invalid_api_key", 401],
  ["unauthenticated", 401],
  ["unauthorized", 401],
  ["billing_error", 402],
  ["permission_error", 403],
  ["permission_denied", 403],
  ["permissiondeniederror", 403],
  ["forbidden", 403],
  ["not_found_error", 404],
  ["notfounderror", 404],
  ["not_found", 404],
  ["model_not_found", 404],
  ["timeout_error", 504],
  ["timeout", 504],
  ["deadline_exceeded", 504],
  ["conflict_error", 409],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["rate_limit_exceeded", 429],
  ["ratelimiterror", 429],
  ["rate_limited", 429],
  ["too_many_requests", 429],
  ["resource_exhausted", 429],
  ["throttlingexception", 429],
  ["insufficient_quota", 429],
  ["tokens", 429],
  ["requests", 429],
  ["slow_down", 429],
  ["api_error", 500],
  ["server_error", 500],
  ["internal_error", 500],
  ["internal_server_error", 500],
  ["internalservererror", 500],
  ["internal", 500],
  ["unavailable", 503],
  ["service_unavailable", 503],
  ["service_unavailable_error", 503],
  ["server_is_overloaded", 503],
  ["overloaded", 503],
  ["overloaded_error", 529],
]);

/** Statuses by the wording of an error that consists of a text only. */
const STATUS_BY_PHRASE: readonly (readonly [RegExp, number])[] = [
  [/rate.?limit|too many requests|quota/i, 429],
  [/overloaded|unavailable|capacity|try again/i, 503],
  [/time[d ]?.?out/i, 504],
];

/** Members of an answer. An object with one of them is an answer, whatever else it contains. */
const ANSWER_MEMBERS: readonly string[] = [
  ...["choices", "content", "data", "output", "results", "embedding", "embeddings", "input_tokens", "completion"],
  ...["text", "images", "object", "delta", "response", "content_block", "index", "usage", "candidates"],
];

const MAX_STATUS = 599;

/** Problem of an answer that is a web page, such as the sign-in page of a proxy. */
export const WEB_PAGE = "the answer is not JSON but a web page: the address may be wrong, or a proxy answered";

/** Problem of an answer in JSON lines, in which some providers stream on the paths of an older API of their own. */
export const JSON_LINES =
  "the answer is a stream of JSON lines, not of events: `base_url` may lead to another API of the provider";

/** Returns whether a text, without white space before it, is a web page or XML. Its first 14 characters suffice. */
export const isWebPage = (text: string): boolean => /^<(?:!doctype|html|\?xml|head|body)/i.test(text);

/**
 * Returns the error that an event's data reports, or `undefined` if the data is an answer or nothing shows that it is an error.
 */
export function errorInEvent(data: string): AnswerError | undefined {
  return isPlainAnswer(data) ? undefined : errorIn(tryParseJson(data));
}

/** Returns the error that a whole body reports, or `undefined`. */
export function errorInBody(body: Buffer): AnswerError | undefined {
  // Searching one text is faster than searching the bytes once per name.
  const isPlain = isPlainAnswer(body.toString("latin1"));
  return isPlain ? undefined : errorIn(tryParseJson(body.toString("utf8").replace(/^\uFEFF/, "")));
}

/** Returns whether the text is an answer by a cheap check of its names. Such a text is not parsed. */
const isPlainAnswer = (text: string): boolean =>
  !ERROR_NAMES.some((name) => text.includes(name)) && ANSWER_MEMBER.test(text);

const ERROR_NAMES: readonly string[] = ['"error"', '"base_resp"'];
/** Matches a member of an answer that is not null: some hosts write `"data":null` beside an error. */
const ANSWER_MEMBER = /"(?:choices|content|delta|data|output|embedding|usage)"\s*:\s*[^\sn]/;

function errorIn(value: unknown): AnswerError | undefined {
  const body = objectOf(value) ?? objectOf(listOf(value)[0]);
  if (body === undefined) return undefined;
  const error = errorMember(body);
  return error === undefined ? undefined : { status: statusOf(error, body) };
}

/** Returns the object or text that describes the error, or `undefined`. */
function errorMember(body: Values): Values | string | undefined {
  const { error, type, object } = body;
  // Some objects of the API have an error member of their own: a response, a job, a video.
  const isStoredObject = typeof object === "string" && object !== "error" && !object.startsWith("chat.completion");
  if (!isStoredObject) {
    const described = errorDescription(error) ?? errorDescription(listOf(error)[0]);
    if (described !== undefined) return described;
  }
  if (type === "error" || object === "error") return body;
  const choice = objectOf(listOf(body["choices"])[0]);
  const choiceError = errorDescription(choice?.["error"]);
  if (choiceError !== undefined) return choiceError;
  const base = objectOf(body["base_resp"]);
  if (base !== undefined && typeof base["status_code"] === "number" && base["status_code"] !== 0) return base;
  if (ANSWER_MEMBERS.some((name) => body[name] !== undefined && body[name] !== null)) return undefined;
  return hasErrorMessage(body) ? body : undefined;
}

function errorDescription(error: unknown): Values | string | undefined {
  if (typeof error === "string") return error.trim() === "" ? undefined : error;
  const object = objectOf(error);
  return object !== undefined && Object.values(object).some((member) => !EMPTY.has(member)) ? object : undefined;
}

/** Values of an error object that says nothing: some hosts write one in every answer. */
const EMPTY: ReadonlySet<unknown> = new Set([null, "", 0, false]);

/** Returns whether the body has a member in which hosts without an `error` describe a failure. */
function hasErrorMessage(body: Values): boolean {
  const { detail, message, msg, errors, error_msg: errorText, error_message: errorMessage, type } = body;
  if (typeof type === "string" && type !== "error") return false; // This is an event of another kind.
  return [detail, message, msg, errors, errorText, errorMessage].some(
    (text) => (typeof text === "string" && text !== "") || listOf(text).length > 0 || objectOf(text) !== undefined,
  );
}

function statusOf(error: Values | string, body: Values): number {
  if (typeof error === "string") return statusOfPhrase(error) ?? statusIn(body) ?? UNKNOWN_STATUS;
  return (
    statusIn(error) ?? statusIn(body) ?? statusByErrorName(error) ?? statusByErrorName(body) ?? statusOfMessage(error)
  );
}

function statusIn(object: Values): number | undefined {
  for (const name of ["status", "code", "status_code", "statusCode", "http_code", "http_status"]) {
    const value = object[name];
    const status = typeof value === "string" && /^[45]\d\d$/.test(value) ? Number(value) : value;
    if (typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= MAX_STATUS) return status;
  }
  return undefined;
}

function statusByErrorName(object: Values): number | undefined {
  for (const name of ["type", "code", "status", "__type"]) {
    // Some services prefix the name with the namespace of the type.
    const word = stringOf(object[name])?.toLowerCase().split("#").at(-1);
    const status = word === undefined ? undefined : STATUS_BY_ERROR_NAME.get(word);
    if (status !== undefined) return status;
  }
  return undefined;
}

function statusOfMessage(error: Values): number {
  for (const name of ["message", "detail", "msg", "status_msg", "error_msg"]) {
    const text = stringOf(error[name]);
    const status = text === undefined ? undefined : statusOfPhrase(text);
    if (status !== undefined) return status;
  }
  return UNKNOWN_STATUS;
}

const statusOfPhrase = (text: string): number | undefined =>
  STATUS_BY_PHRASE.find(([phrase]) => phrase.test(text))?.[1];
