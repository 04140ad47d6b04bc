/**
 * Collects the capabilities that a `responses` request uses, and the uses that the channel's form cannot express. Source:
 * responses reference, 2 to 4.
 *
 * A field with a value that every provider applies anyway is not a use, so an explicit default refuses nothing.
 */

import { listOf, objectOf, type Values } from "../../json/json-values.ts";
import type { Form } from "../../routes/routes.ts";
import type { Capability } from "../capabilities.ts";
import { isOpaqueId, isText } from "../dialect-forms.ts";
import { type FieldReader, ignoreField, readFields } from "../field-readings.ts";
import { RESPONSE, type RESPONSE_FIELDS } from "../known-response-fields.ts";
import { type Additions, additionsOf } from "../response-tools.ts";
import type { UseList } from "./use-list.ts";
import { isOtherNumber, readSampling, readSchema, readUser, SHARED_READERS } from "./uses-compat-settings.ts";
import { readEffort } from "./uses-compat-thinking.ts";
import { readItems } from "./uses-responses-items.ts";
import { readOffered } from "./uses-responses-tools.ts";

/** Values of `include` without an effect: they concern stored items, or output that is sent in any case. */
const INCLUDES_WITHOUT_EFFECT: ReadonlySet<unknown> = new Set([
  "reasoning.encrypted_content",
  "message.input_image.image_url",
  "web_search_call.results",
  "web_search_call.action.sources",
  "file_search_call.results",
  "code_interpreter_call.outputs",
  "computer_call_output.output.image_url",
]);

const hint =
  (isSet: (value: unknown) => boolean): FieldReader =>
  (value, uses) => {
    if (isSet(value)) uses.lose("hint");
  };
const always = () => true;

const READERS: Readonly<Record<(typeof RESPONSE_FIELDS)[number], FieldReader>> = {
  ...SHARED_READERS,
  model: ignoreField,
  input: ignoreField,
  instructions: ignoreField,
  tools: ignoreField,
  tool_choice: ignoreField,
  parallel_tool_calls: ignoreField,
  max_output_tokens: ignoreField,
  // The limit only counts calls of the provider's own tools, which a translated request does not have.
  max_tool_calls: hint((value) => typeof value === "number"),
  reasoning: readReasoning,
  text: readText,
  stream_options(value, uses) {
    const options = objectOf(value);
    if (options === undefined) return;
    if (options.include_obfuscation === true) uses.lose("hint", "stream_options.include_obfuscation");
    uses.checkMembers(options, RESPONSE.streamOptions, "stream_options");
  },
  previous_response_id(value, uses) {
    if (isText(value)) uses.add("stored_responses");
  },
  conversation(value, uses) {
    if (isText(value) || objectOf(value) !== undefined) uses.add("stored_responses");
  },
  prompt(value, uses) {
    if (objectOf(value) !== undefined) uses.add("stored_prompts");
  },
  background(value, uses) {
    if (value === true) uses.add("background");
  },
  truncation: hint((value) => value === "auto"),
  context_management: hint((value) => listOf(value).length > 0),
  include(value, uses) {
    for (const [index, name] of listOf(value).entries()) {
      if (name === "message.output_text.logprobs") uses.add("logprobs", `include[${index}]`);
      else if (!INCLUDES_WITHOUT_EFFECT.has(name)) uses.lose("hint", `include[${index}]`);
    }
  },
  prompt_cache_options(value, uses, to) {
    const options = objectOf(value);
    if (options === undefined) return;
    if (options.prewarm === true) uses.add("cache_prewarm", "prompt_cache_options.prewarm");
    if (typeof options.ttl === "string") {
      uses.add("cache_ttl", "prompt_cache_options.ttl");
      if (to === "messages" && options.mode !== "implicit") uses.lose("cache_ttl", "prompt_cache_options.ttl");
    }
    if (to === "chat") uses.add("prompt_caching");
    uses.checkMembers(options, RESPONSE.promptCacheOptions, "prompt_cache_options");
  },
  service_tier(value, uses, to) {
    if (typeof value !== "string" || value === "auto" || value === "default") return;
    uses.add("service_tier");
    if (to === "messages") uses.lose("service_tier");
  },
  access_programs: hint(always),
  image: hint(always),
  client_metadata: ignoreField,
};

const READER_BY_FIELD: ReadonlyMap<string, FieldReader> = new Map(Object.entries(READERS));

/** Returns the uses of a `responses` request. `target` is explained at `UseList`. */
export function usesOfResponses(body: Values, target: Capability | undefined, to: Form): UseList {
  const additions = additionsOf(body.input);
  const request = applyItemSettings(body, additions);
  const uses = readFields(request, READER_BY_FIELD, target, to);
  readOffered(request, additions, to, uses);
  readItems(request.input, to, uses);
  readCombinations(request, to, uses);
  return uses;
}

/** Returns the request with the settings that its items override. */
export function applyItemSettings(request: Values, { reasoning, text }: Additions): Values {
  if (reasoning === undefined && text === undefined) return request;
  return { ...request, reasoning: reasoning ?? request.reasoning, text: text ?? request.text };
}

function readReasoning(value: unknown, uses: UseList, to: Form): void {
  const reasoning = objectOf(value);
  if (reasoning === undefined) return;
  readEffort(reasoning.effort, "reasoning.effort", uses, to);
  for (const name in reasoning) {
    const isSet = reasoning[name] !== null && reasoning[name] !== undefined;
    if (isSet && !RESPONSE.reasoning.has(name)) uses.lose("hint", "reasoning");
  }
}

function readText(value: unknown, uses: UseList, to: Form): void {
  const text = objectOf(value);
  if (text === undefined) return;
  uses.checkMembers(text, RESPONSE.text, "text");
  if (typeof text.verbosity === "string" && text.verbosity !== "medium") uses.add("verbosity", "text.verbosity");
  const format = objectOf(text.format);
  if (format === undefined) return;
  const place = "text.format";
  switch (format.type) {
    case "text":
      uses.checkMembers(format, RESPONSE.format, place);
      return;
    case "json_object":
      uses.add("json_object", place);
      uses.checkMembers(format, RESPONSE.format, place);
      return;
    case "json_schema":
      if (to === "messages") readSchema(format, place, RESPONSE.format, uses);
      else {
        uses.add("json_schema", place);
        uses.checkMembers(format, RESPONSE.format, place);
      }
      return;
    default:
      uses.lose("unknown_field", `${place}.type`);
  }
}

/** Adds uses that depend on several fields. */
function readCombinations(request: Values, to: Form, uses: UseList): void {
  const { capabilities } = uses;
  if (isOtherNumber(request.temperature, 1) && isOtherNumber(request.top_p, 1)) uses.add("top_p_pair", "top_p");
  if (capabilities.has("thinking") && capabilities.has("tool_choice")) uses.add("thinking_forced_tool", "tool_choice");
  if (to === "messages") {
    if (capabilities.has("user_id")) readUser(request, uses);
    if (capabilities.has("thinking")) readSampling({ ...request, top_k: undefined }, uses);
  } else if (capabilities.has("user_id")) readChatUser(request, uses);
}

/**
 * Reads the end user's id. Only one id is passed on, and never an email address or a telephone number; a longer id is passed on
 * as its digest.
 */
function readChatUser({ safety_identifier: identifier, user }: Values, uses: UseList): void {
  const hasIdentifier = isText(identifier);
  if (hasIdentifier && !isOpaqueId(identifier)) uses.lose("user_id", "safety_identifier");
  else if (isText(user) && (hasIdentifier ? user !== identifier : !isOpaqueId(user))) uses.lose("user_id", "user");
}
