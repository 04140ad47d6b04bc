/** Capabilities that a provider loses if the catalog removes fields from its requests. */
import { type Capability, type Dialect, requestFieldsOf } from "../dialects/index.ts";

/**
 * Top-level request fields and the capabilities that are lost without them. A channel may not claim a capability whose field
 * the gateway removes: the fidelity guard would let the request pass although the field is lost.
 */
const FIELD_CAPABILITIES: Readonly<Record<string, readonly Capability[]>> = {
  audio: ["audio_output"],
  cache_control: ["prompt_caching", "cache_ttl"],
  container: ["server_tools"],
  context_management: ["context_management"],
  frequency_penalty: ["penalties"],
  inference_geo: ["inference_geo"],
  logit_bias: ["logit_bias"],
  logprobs: ["logprobs"],
  mcp_servers: ["server_tools"],
  metadata: ["metadata", "user_id"],
  modalities: ["audio_output"],
  moderation: ["moderation"],
  n: ["n"],
  output_config: ["json_schema", "effort"],
  parallel_tool_calls: ["parallel_tool_calls"],
  prediction: ["prediction"],
  presence_penalty: ["penalties"],
  reasoning_effort: ["thinking", "effort"],
  response_format: ["json_schema", "json_object"],
  safety_identifier: ["user_id"],
  seed: ["seed"],
  service_tier: ["service_tier"],
  stop: ["stop"],
  stop_sequences: ["stop"],
  store: ["store"],
  stream: ["streaming"],
  stream_options: ["stream_usage"],
  temperature: ["sampling", "temperature_above_one", "top_p_pair"],
  thinking: ["thinking", "thinking_budget"],
  tool_choice: ["tool_choice", "allowed_tools"],
  tools: ["tools", "strict_tools", "custom_tools", "builtin_tools", "server_tools", "tool_search"],
  top_k: ["top_k"],
  top_logprobs: ["logprobs"],
  top_p: ["sampling", "top_p_pair"],
  user: ["user_id"],
  verbosity: ["verbosity"],
  web_search_options: ["web_search"],
};

/** Returns the capabilities that cannot be claimed without these fields, with the field that carries each. */
export function lostWithout(removedFields: readonly string[]): ReadonlyMap<Capability, string> {
  const lost = new Map<Capability, string>();
  for (const field of removedFields) {
    if (!Object.hasOwn(FIELD_CAPABILITIES, field)) continue;
    for (const capability of FIELD_CAPABILITIES[field] ?? []) lost.set(capability, field);
  }
  return lost;
}

/** Returns the capabilities that no remaining field carries. A capability that several fields carry is kept if one of them is. */
export function whollyLostWithout(removedFields: readonly string[], dialect: Dialect): ReadonlySet<Capability> {
  const known = requestFieldsOf(dialect);
  const left = Object.entries(FIELD_CAPABILITIES).flatMap(([field, capabilities]) =>
    known.has(field) && !removedFields.includes(field) ? capabilities : [],
  );
  return new Set([...lostWithout(removedFields).keys()].filter((capability) => !left.includes(capability)));
}
