/** Translates independent settings of a compat request. Source: dialects reference, 8.1; 10.3 (1, 21, 22). */
import { isSendableUserId } from "../../fidelity/dialect-forms.ts";
import { isExpressibleInMessages } from "../../fidelity/schemas.ts";
import type { Values } from "../../json/json-values.ts";
import {
  isAbsent,
  optionalNumber,
  optionalObject,
  optionalText,
  refuse,
  requiredList,
  requiredObject,
  requiredText,
} from "../required-members.ts";
import type { Scope } from "./block-types.ts";
import { isBlank } from "./media-sources.ts";
import { narrowSchema } from "./output-schema.ts";

/** Default token limit, since the API requires one. With zero it would fill the cache without answering. */
const DEFAULT_MAX_TOKENS = 8192;

/** Tokens left for the answer if thinking would take all of them. */
const ANSWER_TOKENS = 1024;

/** Default value of sampling settings. It is not sent: models without sampling refuse even a default. */
const DEFAULT_SAMPLING = 1;
const MAX_TEMPERATURE = 1;

const SERVICE_TIERS: ReadonlyMap<unknown, string> = new Map([
  ["auto", "auto"],
  ["default", "standard_only"],
  ["priority", "auto"],
  ["fast", "auto"],
]);

/** Returns the token limit. `thinkingBudget` is in tokens, which count as part of the answer. */
export function maxTokens(request: Values, thinkingBudget: number | undefined): number {
  const requestedTokens =
    tokensAt(request, "max_completion_tokens") ?? tokensAt(request, "max_tokens") ?? DEFAULT_MAX_TOKENS;
  return thinkingBudget !== undefined && thinkingBudget >= requestedTokens
    ? thinkingBudget + ANSWER_TOKENS
    : requestedTokens;
}

function tokensAt(request: Values, name: string): number | undefined {
  const tokens = optionalNumber(request[name], name);
  if (tokens === undefined || (Number.isSafeInteger(tokens) && tokens >= 1)) return tokens;
  return refuse(name, "must be a whole number of at least 1");
}

interface Sampling {
  readonly temperature: number | undefined;
  readonly top_p: number | undefined;
  readonly top_k: number | undefined;
}

const NO_SAMPLING: Sampling = { temperature: undefined, top_p: undefined, top_k: undefined };

/** Minimum `top_p` that the API accepts together with thinking. */
const MIN_THINKING_TOP_P = 0.95;

/**
 * Returns the sampling settings. If a model does not accept temperature and `top_p` together, the temperature is kept.
 * `isThinking` is true if the request asks for thinking.
 */
export function samplingOf(request: Values, isThinking: boolean, { claims }: Scope): Sampling {
  const temperature = samplingAt(request, "temperature");
  const top_p = samplingAt(request, "top_p");
  const top_k = optionalNumber(request["top_k"], "top_k");
  if (isThinking) {
    const keepsTopP = top_p !== undefined && top_p >= MIN_THINKING_TOP_P && claims("sampling");
    return keepsTopP ? { ...NO_SAMPLING, top_p } : NO_SAMPLING;
  }
  const isPair = temperature !== undefined && top_p !== undefined;
  const isSampled = claims("sampling");
  return {
    temperature: isSampled && temperature !== undefined ? Math.min(temperature, MAX_TEMPERATURE) : undefined,
    top_p: isSampled && (!isPair || claims("top_p_pair")) ? top_p : undefined,
    // Providers with this extension treat values below one as off.
    top_k: top_k !== undefined && top_k > 0 && claims("top_k") ? top_k : undefined,
  };
}

function samplingAt(request: Values, name: string): number | undefined {
  const value = optionalNumber(request[name], name);
  return value === DEFAULT_SAMPLING ? undefined : value;
}

/** Returns the stop sequences. The API refuses sequences of white space only. */
export function stopSequences(request: Values, { claims }: Scope): readonly string[] | undefined {
  const stop = request["stop"];
  if (isAbsent(stop)) return undefined;
  const sequences = typeof stop === "string" ? [stop] : requiredList(stop, "stop");
  const kept = sequences.map((item, index) => requiredText(item, `stop[${index}]`)).filter((item) => !isBlank(item));
  return kept.length > 0 && claims("stop") ? kept : undefined;
}

/** Returns the output format. Formats without a schema have no equivalent. */
export function outputFormat(request: Values, { claims, exact }: Scope): unknown {
  const format = optionalObject(request["response_format"], "response_format");
  if (format?.["type"] !== "json_schema") return undefined;
  const place = "response_format.json_schema";
  const schema = optionalObject(requiredObject(format["json_schema"], place)["schema"], `${place}.schema`);
  if (schema === undefined || !claims("json_schema") || !isExpressibleInMessages(schema)) return undefined;
  return { type: "json_schema", schema: narrowSchema(schema, exact) };
}

export function serviceTier(request: Values, { claims }: Scope): string | undefined {
  return claims("service_tier") ? SERVICE_TIERS.get(request["service_tier"]) : undefined;
}

/** Returns the metadata. The API refuses an id that identifies the user, or that is too long. */
export function metadataOf(request: Values, { claims }: Scope): { readonly user_id: string } | undefined {
  const identifier = optionalText(request["safety_identifier"], "safety_identifier");
  const user_id = identifier || optionalText(request["user"], "user");
  return user_id && isSendableUserId(user_id) && claims("user_id") ? { user_id } : undefined;
}
