/**
 * Member names that either dialect is known to have, by the kind of object. A member of another name passes as bytes to a
 * channel of the same dialect, and is reported as `unknown_field` if the request is translated.
 *
 * Source: dialects reference, sections 3.1 and 5.1, with the extensions named there that the capability vocabulary has. An
 * extension without a row in the vocabulary (`min_p`, `guided_json`) is missing here on purpose, so that its loss is reported.
 * Objects that pass whole, like schemas, arguments and cache marks, have no set.
 */

import type { Dialect } from "../routes/routes.ts";

const names = (...list: readonly string[]): ReadonlySet<string> => new Set(list);

/** Members of `thinking`, in either dialect. */
export const THINKING = names("type", "budget_tokens", "display");

/** Fields of a chat completion request. */
export const CHAT_FIELDS = [
  "model",
  "messages",
  "max_completion_tokens",
  "max_tokens",
  "temperature",
  "top_p",
  "top_k",
  "n",
  "stop",
  "frequency_penalty",
  "presence_penalty",
  "logit_bias",
  "logprobs",
  "top_logprobs",
  "seed",
  "stream",
  "stream_options",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "functions",
  "function_call",
  "response_format",
  "reasoning_effort",
  "reasoning",
  "thinking",
  "verbosity",
  "modalities",
  "audio",
  "prediction",
  "web_search_options",
  "service_tier",
  "store",
  "metadata",
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "prompt_cache_options",
  "moderation",
  "include_reasoning",
  "usage",
] as const;

/**
 * Members that some providers add to their answers and official SDKs send back: signatures (Gemini), generated images (OpenRouter),
 * calls of the provider's own tools (Groq). They mean nothing to another provider.
 */
export const REPLAYED_MEMBERS = ["extra_content", "images", "executed_tools"] as const;

/** Members of objects in a chat completion request. */
export const CHAT = {
  streamOptions: names("include_usage", "include_obfuscation"),
  tool: names("type", "function", "custom", "cache_control"),
  function: names("name", "description", "parameters", "strict", "cache_control"),
  toolChoice: names("type", "function", "custom", "allowed_tools"),
  allowedTools: names("mode", "tools"),
  namedChoice: names("name"),
  responseFormat: names("type", "json_schema"),
  jsonSchema: names("name", "description", "schema", "strict"),
  reasoning: names("effort", "max_tokens", "enabled", "exclude"),
  webSearchOptions: names("search_context_size", "user_location"),
  userLocation: names("type", "approximate"),
  approximate: names("city", "country", "region", "timezone"),
  promptCacheOptions: names("mode", "ttl"),
  message: names("role", "content", "name", "cache_control"),
  assistant: names(
    "role",
    "content",
    "name",
    "cache_control",
    "refusal",
    "tool_calls",
    "function_call",
    "audio",
    "annotations",
    "parsed",
    // LiteLLM adds this member to its answers, and clients send it back.
    "provider_specific_fields",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "thinking_blocks",
    ...REPLAYED_MEMBERS,
  ),
  toolAnswer: names("role", "content", "name", "cache_control", "tool_call_id"),
  /** Tool call. `index` occurs in streams, and clients send back calls that they assembled from a stream. */
  toolCall: names("id", "type", "function", "custom", "index", "extra_content"),
  /**
   * Called function. The official SDK's helpers leave `parsed_arguments` in calls that clients send back, and `parsed` in
   * messages.
   */
  calledFunction: names("name", "arguments", "parsed_arguments"),
  text: names("type", "text", "prompt_cache_breakpoint", "cache_control"),
  refusal: names("type", "refusal"),
  image: names("type", "image_url", "prompt_cache_breakpoint", "cache_control"),
  imageUrl: names("url", "detail"),
  audio: names("type", "input_audio", "prompt_cache_breakpoint", "cache_control"),
  file: names("type", "file", "prompt_cache_breakpoint", "cache_control"),
  fileContent: names("file_id", "filename", "file_data"),
} as const;

/** Fields of a messages request. */
export const MESSAGES_FIELDS = [
  "model",
  "max_tokens",
  "messages",
  "system",
  "stop_sequences",
  "stream",
  "temperature",
  "top_p",
  "top_k",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
  "output_format",
  "metadata",
  "service_tier",
  "speed",
  "inference_geo",
  "cache_control",
  "container",
  "diagnostics",
  "mcp_servers",
  "context_management",
  "thread",
  "betas",
] as const;

/** Members of objects in a messages request. */
export const MESSAGES = {
  /** Members of a tool that the client runs. Tools of the provider pass whole or not at all. */
  tool: names(
    "type",
    "name",
    "description",
    "input_schema",
    "strict",
    "cache_control",
    "defer_loading",
    "eager_input_streaming",
    "input_examples",
    "allowed_callers",
  ),
  webSearch: names(
    "type",
    "name",
    "user_location",
    "max_uses",
    "allowed_domains",
    "blocked_domains",
    "cache_control",
    "defer_loading",
    "allowed_callers",
    "strict",
  ),
  userLocation: names("type", "city", "country", "region", "timezone"),
  toolChoice: names("type", "name", "disable_parallel_tool_use"),
  outputConfig: names("effort", "format", "task_budget"),
  format: names("type", "schema"),
  metadata: names("user_id"),
  thread: names("type", "previous_message_id"),
  message: names("role", "content"),
  text: names("type", "text", "cache_control", "citations"),
  image: names("type", "source", "cache_control", "transformations"),
  document: names("type", "source", "cache_control", "title", "context", "citations"),
  source: names("type", "media_type", "data", "url", "file_id", "content"),
  thinkingBlock: names("type", "thinking", "signature"),
  redactedThinking: names("type", "data"),
  toolUse: names("type", "id", "name", "input", "cache_control", "caller", "toolset_name"),
  toolResult: names("type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"),
} as const;

const FIELDS: Readonly<Record<Dialect, ReadonlySet<string>>> = {
  compat: new Set<string>(CHAT_FIELDS),
  messages: new Set<string>(MESSAGES_FIELDS),
};

/** Returns the names of the top-level request fields of the dialect (for compat, those of chat completions). */
export const requestFieldsOf = (dialect: Dialect): ReadonlySet<string> => FIELDS[dialect];
