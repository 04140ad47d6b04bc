/**
 * Collects the capabilities that a chat completion request uses. Source: dialects reference, 3.1 and 7; what translation drops:
 * 8.1.
 */

import { listOf, objectOf, type Values } from "../../json/json-values.ts";
import type { Form } from "../../routes/routes.ts";
import type { Capability } from "../capabilities.ts";
import { isText } from "../dialect-forms.ts";
import { type FieldReader, ignoreField, readFields } from "../field-readings.ts";
import { CHAT, type CHAT_FIELDS } from "../known-fields.ts";
import type { UseList } from "./use-list.ts";
import { readChatHistory } from "./uses-compat-history.ts";
import {
  hasMembers,
  isOtherNumber,
  readSampling,
  readSchema,
  readUser,
  SHARED_READERS,
} from "./uses-compat-settings.ts";
import { readBudget, readEffort, readReasoning, readSecondEffort } from "./uses-compat-thinking.ts";
import { readFunctions, readToolChoice, readTools } from "./uses-compat-tools.ts";
import { readThinking } from "./uses-thinking.ts";

const READERS: Readonly<Record<(typeof CHAT_FIELDS)[number], FieldReader>> = {
  ...SHARED_READERS,
  model: ignoreField,
  messages: ignoreField,
  max_completion_tokens: ignoreField,
  max_tokens: ignoreField,
  // Providers with `top_k` treat values below one as off.
  top_k(value, uses) {
    if (typeof value === "number" && value > 0) uses.add("top_k");
  },
  n(value, uses) {
    if (typeof value === "number" && value > 1) uses.add("n");
  },
  stop: readStop,
  frequency_penalty: readPenalty,
  presence_penalty: readPenalty,
  logit_bias(value, uses) {
    if (hasMembers(value)) uses.add("logit_bias");
  },
  logprobs(value, uses) {
    if (value === true) uses.add("logprobs");
  },
  seed(value, uses) {
    if (typeof value === "number") uses.add("seed");
  },
  // Padding against eavesdropping is on by default. A client can turn it off, and translated streams never have it.
  stream_options(value, uses) {
    const options = objectOf(value);
    if (options === undefined) return;
    if (options.include_usage === true) uses.add("stream_usage");
    uses.checkMembers(options, CHAT.streamOptions, "stream_options");
  },
  tools: readTools,
  tool_choice: readToolChoice,
  parallel_tool_calls(value, uses) {
    if (value === false) uses.add("parallel_tool_calls");
  },
  functions: readFunctions,
  function_call(value, uses) {
    const choice = objectOf(value);
    if (choice === undefined) return;
    uses.add("tool_choice");
    uses.checkMembers(choice, CHAT.namedChoice, "function_call");
  },
  response_format: readFormat,
  reasoning_effort(value, uses) {
    readEffort(value, "reasoning_effort", uses);
  },
  reasoning: readReasoning,
  thinking: readThinking,
  modalities(value, uses) {
    for (const modality of listOf(value)) {
      if (modality === "audio") uses.add("audio_output");
      else if (typeof modality === "string" && modality !== "text") uses.lose("unknown_field", "modalities");
    }
  },
  audio(value, uses) {
    if (objectOf(value) !== undefined) uses.add("audio_output");
  },
  prediction(value, uses) {
    if (objectOf(value) !== undefined) uses.add("prediction");
  },
  web_search_options: readSearch,
  service_tier(value, uses) {
    if (typeof value !== "string" || value === "auto" || value === "default") return;
    uses.addLost("service_tier", "service_tier");
  },
  // The modes control whether the provider sets cache marks on its own. In the other dialect only clients set them.
  prompt_cache_options(value, uses) {
    const options = objectOf(value);
    if (options === undefined) return;
    if (typeof options.ttl === "string") {
      uses.add("cache_ttl", "prompt_cache_options.ttl");
      if (options.mode !== "implicit") uses.lose("cache_ttl", "prompt_cache_options.ttl");
    }
    uses.checkMembers(options, CHAT.promptCacheOptions, "prompt_cache_options");
  },
  // A translated answer always contains what these two fields ask for.
  include_reasoning(_, uses) {
    uses.lose("hint", "include_reasoning");
  },
  usage(_, uses) {
    uses.lose("hint", "usage");
  },
};

const READER_BY_FIELD: ReadonlyMap<string, FieldReader> = new Map(Object.entries(READERS));

/** Returns the uses of a chat completion request. `target` is explained at `UseList`. */
export function usesOfChat(request: Values, target: Capability | undefined, to: Form): UseList {
  const uses = readFields(request, READER_BY_FIELD, target, to);
  readCombinations(request, uses);
  // A thinking budget is left out if the turn lacks its thinking (dialects reference, list of bugs, 24).
  const turnWithoutThinking = readChatHistory(listOf(request.messages), uses);
  if (turnWithoutThinking !== undefined && usesThinkingBudget(request, uses))
    uses.lose("thinking_budget", turnWithoutThinking);
  return uses;
}

/**
 * Returns whether thinking is translated to a budget: it is requested without an effort, and the request does not let the
 * model decide.
 */
function usesThinkingBudget({ thinking }: Values, { capabilities }: UseList): boolean {
  if (capabilities.has("thinking_budget")) return true;
  const type = objectOf(thinking)?.type;
  return capabilities.has("thinking") && !capabilities.has("effort") && type !== "adaptive" && type !== "between_tools";
}

/** Adds uses that depend on several fields. */
function readCombinations(request: Values, uses: UseList): void {
  if (isOtherNumber(request.temperature, 1) && isOtherNumber(request.top_p, 1)) uses.add("top_p_pair", "top_p");
  const { max_tokens: older, max_completion_tokens: bound } = request;
  if (typeof older === "number" && typeof bound === "number" && older !== bound) uses.lose("hint", "max_tokens");
  const { capabilities } = uses;
  if (capabilities.has("user_id")) readUser(request, uses);
  if (capabilities.has("thinking") && capabilities.has("tool_choice")) uses.add("thinking_forced_tool", "tool_choice");
  // A messages provider refuses a tool choice without a tool.
  const hasTools = [request.tools, request.functions].some((tools) => listOf(tools).length > 0);
  if (capabilities.has("tool_choice") && !hasTools && !capabilities.has("web_search")) {
    uses.lose("tool_choice", objectOf(request.function_call) === undefined ? "tool_choice" : "function_call");
  }
  if (capabilities.has("thinking")) readSampling(request, uses);
  if (capabilities.has("thinking_budget")) readBudget(request, bound ?? older, uses);
  if (capabilities.has("effort")) readSecondEffort(request, uses);
}

/** Reads stop sequences. Empty ones have no effect; a messages provider refuses those that consist of white space. */
function readStop(value: unknown, uses: UseList): void {
  if (isText(value)) {
    uses.add("stop");
    if (value.trim() === "") uses.lose("stop", "stop");
    return;
  }
  for (const [index, sequence] of listOf(value).entries()) {
    if (!isText(sequence)) continue;
    uses.add("stop");
    if (sequence.trim() === "") uses.lose("stop", `stop[${index}]`);
  }
}

function readSearch(value: unknown, uses: UseList): void {
  const options = objectOf(value);
  if (options === undefined) return;
  const place = "web_search_options";
  uses.add("web_search");
  const { search_context_size: size } = options;
  if (isText(size) && size !== "medium") uses.lose("hint", `${place}.search_context_size`);
  uses.checkMembers(options, CHAT.webSearchOptions, place);
  const location = objectOf(options.user_location);
  if (location === undefined) return;
  uses.checkMembers(location, CHAT.userLocation, `${place}.user_location`);
  const near = objectOf(location.approximate);
  if (near !== undefined) uses.checkMembers(near, CHAT.approximate, `${place}.user_location.approximate`);
}

function readPenalty(value: unknown, uses: UseList): void {
  if (isOtherNumber(value, 0)) uses.add("penalties");
}

function readFormat(value: unknown, uses: UseList): void {
  const format = objectOf(value);
  if (format === undefined) return;
  uses.checkMembers(format, CHAT.responseFormat, "response_format");
  switch (format.type) {
    case "text":
      return;
    case "json_object":
      uses.add("json_object");
      return;
    case "json_schema":
      readSchema(objectOf(format.json_schema), "response_format.json_schema", CHAT.jsonSchema, uses);
      return;
    default:
      if (format.type !== undefined) uses.lose("unknown_field", "response_format.type");
  }
}
