/**
 * The capability vocabulary: one name for each thing a request can use and a channel can lack.
 *
 * Source: dialects reference, section 7, with the soft additions of design decisions, section 6. `hard`: losing it
 * changes what the request means, so a channel that lacks it is refused. `soft`: a hint, whose loss is only counted.
 * Route capabilities say which routes a surface serves; they are hard. The order of the table is the order in which
 * losses are named.
 */

import type { Dialect } from "./types.ts";

interface CapabilityRule {
  readonly class: "hard" | "soft";
  readonly dialects: readonly Dialect[];
  readonly route: boolean;
}

const both: readonly Dialect[] = ["compat", "messages"];

const hard = (...dialects: readonly Dialect[]): CapabilityRule => ({ class: "hard", dialects, route: false });
const soft = (...dialects: readonly Dialect[]): CapabilityRule => ({ class: "soft", dialects, route: false });
const route = (...dialects: readonly Dialect[]): CapabilityRule => ({ class: "hard", dialects, route: true });

export const CAPABILITIES = {
  tools: hard(...both),
  tool_choice: hard(...both),
  allowed_tools: hard("compat"),
  parallel_tool_calls: hard(...both),
  strict_tools: hard(...both),
  custom_tools: hard("compat"),
  builtin_tools: hard("messages"),
  server_tools: hard("messages"),
  web_search: hard(...both),
  tool_search: hard("messages"),
  vision: hard(...both),
  documents: hard(...both),
  file_refs: hard(...both),
  audio_input: hard("compat"),
  audio_output: hard("compat"),
  tool_result_media: hard("messages"),
  tool_errors: soft("messages"),
  json_schema: hard(...both),
  json_object: hard("compat"),
  sampling: hard(...both),
  temperature_above_one: hard("compat"),
  top_p_pair: soft(...both),
  top_k: hard(...both),
  penalties: hard("compat"),
  logit_bias: hard("compat"),
  logprobs: hard("compat"),
  n: hard("compat"),
  seed: hard("compat"),
  stop: hard(...both),
  prediction: soft("compat"),
  verbosity: soft("compat"),
  thinking: hard(...both),
  thinking_budget: soft(...both),
  thinking_forced_tool: soft(...both),
  thinking_replay: hard(...both),
  effort: soft(...both),
  prompt_caching: soft(...both),
  cache_ttl: soft(...both),
  cache_prewarm: soft("messages"),
  citations: hard("messages"),
  citation_replay: soft("messages"),
  prefill: hard(...both),
  mid_system: soft(...both),
  service_tier: soft(...both),
  inference_geo: hard("messages"),
  store: soft("compat"),
  metadata: soft("compat"),
  user_id: soft(...both),
  moderation: hard("compat"),
  context_management: hard("messages"),
  streaming: hard(...both),
  stream_usage: soft("compat"),

  chat_completions: route("compat"),
  embeddings: route("compat"),
  completions: route("compat"),
  responses: route("compat"),
  images: route("compat"),
  audio_speech: route("compat"),
  audio_transcription: route("compat"),
  moderations: route("compat"),
  batches: route("compat"),
  realtime: route("compat"),
  rerank: route("compat"),
  videos: route("compat"),
  fine_tuning: route("compat"),
  assistants: route("compat"),
  /** Any further path below `/v1/`, forwarded as bytes. */
  compat_other: route("compat"),
  messages: route("messages"),
  count_tokens: route("messages"),
  message_batches: route("messages"),
  complete: route("messages"),
  models: route(...both),
  files: route(...both),
  skills: route(...both),
} as const satisfies Readonly<Record<string, CapabilityRule>>;

export type Capability = keyof typeof CAPABILITIES;

export function isCapability(name: string): name is Capability {
  return Object.hasOwn(CAPABILITIES, name);
}

/** In the order of the table. */
export const CAPABILITY_NAMES: readonly Capability[] = Object.keys(CAPABILITIES).filter(isCapability);

function ruleOf(name: Capability): CapabilityRule {
  return CAPABILITIES[name];
}

/** All that a request of the dialect can use, routes left out: the sets O (compat) and M (messages). */
export function usableIn(dialect: Dialect): ReadonlySet<Capability> {
  return new Set(CAPABILITY_NAMES.filter((name) => !ruleOf(name).route && ruleOf(name).dialects.includes(dialect)));
}

/** What a channel without a list of claims is taken to claim: all of its dialect, routes included. */
export function claimableIn(dialect: Dialect): ReadonlySet<Capability> {
  return new Set(CAPABILITY_NAMES.filter((name) => ruleOf(name).dialects.includes(dialect)));
}

/**
 * Top-level request fields and what is lost without them. A channel may not claim what the gateway itself takes out of
 * the request on the way: the fidelity guard would let the request pass and the field would be gone.
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

/** What cannot be claimed where these fields are removed, each with the field that carries it. */
export function lostWithout(removedFields: readonly string[]): ReadonlyMap<Capability, string> {
  const lost = new Map<Capability, string>();
  for (const field of removedFields) {
    if (!Object.hasOwn(FIELD_CAPABILITIES, field)) continue;
    for (const capability of FIELD_CAPABILITIES[field] ?? []) lost.set(capability, field);
  }
  return lost;
}
