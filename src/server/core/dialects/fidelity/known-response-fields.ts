/**
 * Member names that a `responses` request is known to have, by the kind of object: see `known-fields.ts`. Source: responses
 * reference, 2 to 4. Members that clients send although no schema has them (`client_metadata`) are included.
 */

const names = (...list: readonly string[]): ReadonlySet<string> => new Set(list);

/** Every item has a type, and may have an id and a status from the answer that it comes from. */
const item = (...list: readonly string[]): ReadonlySet<string> => new Set(["type", "id", "status", ...list]);

export const RESPONSE_FIELDS = [
  "model",
  "input",
  "instructions",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "max_output_tokens",
  "max_tool_calls",
  "temperature",
  "top_p",
  "top_logprobs",
  "reasoning",
  "text",
  "stream",
  "stream_options",
  "store",
  "previous_response_id",
  "conversation",
  "prompt",
  "background",
  "truncation",
  "context_management",
  "include",
  "metadata",
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "service_tier",
  "moderation",
  "access_programs",
  "image",
  "client_metadata",
] as const;

export const RESPONSE = {
  streamOptions: names("include_obfuscation"),
  reasoning: names("effort", "summary", "generate_summary"),
  text: names("format", "verbosity"),
  format: names("type", "name", "schema", "description", "strict"),
  promptCacheOptions: names("mode", "ttl", "prewarm"),
  caller: names("type"),

  message: item("role", "content", "phase"),
  functionCall: item("call_id", "name", "arguments", "namespace", "caller", "async", "parsed_arguments"),
  customCall: item("call_id", "name", "input", "namespace", "caller", "async"),
  /** Output of a tool. Without `call_id` it names the tool by `name` and `namespace`. */
  output: item("call_id", "output", "name", "namespace", "caller"),
  reasoningItem: item("summary", "content", "encrypted_content"),
  additionalTools: item("role", "tools"),
  configuration: item("reasoning", "text"),

  inputText: names("type", "text", "prompt_cache_breakpoint"),
  /** Text of an answer. The official SDK's helpers leave `parsed` in texts that clients send back. */
  outputText: names("type", "text", "annotations", "logprobs", "parsed"),
  refusal: names("type", "refusal"),
  image: names("type", "image_url", "detail", "file_id", "prompt_cache_breakpoint"),
  file: names("type", "filename", "file_data", "file_url", "file_id", "detail", "prompt_cache_breakpoint"),
  audio: names("type", "input_audio", "prompt_cache_breakpoint"),

  functionTool: names(
    "type",
    "name",
    "description",
    "parameters",
    "strict",
    "output_schema",
    "defer_loading",
    "allowed_callers",
    "async",
  ),
  customTool: names("type", "name", "description", "format", "defer_loading", "allowed_callers", "async"),
  grammar: names("type", "syntax", "definition"),
  namespace: names("type", "name", "description", "tools"),
  choice: names("type", "name", "namespace"),
  allowedTools: names("type", "mode", "tools"),
} as const;
