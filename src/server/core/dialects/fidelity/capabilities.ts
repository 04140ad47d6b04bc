/**
 * The capability vocabulary: one name for each thing a request can use and a channel can lack, and what becomes of it when
 * the request is translated to the other dialect.
 *
 * Source: dialects reference, section 7, with the soft additions of design decisions, section 6. `hard`: losing it
 * changes what the request means, so a channel that lacks it is refused. `soft`: a hint, whose loss is only counted.
 * Route capabilities say which routes a surface serves; they are hard. The order of the table is the order in which
 * losses are named.
 */
import type { Dialect } from "../routes.ts";

/**
 * `carried`: translated where the channel claims it, lost where it does not. `optional`: as carried, but where the channel
 * does not claim it leaving it out refuses nothing, whatever its class. `emulated`: translated by means for which the
 * channel needs no claim. `lost`: there is no equivalent.
 */
export type Crossing = "carried" | "optional" | "emulated" | "lost";

/** By the dialect of a request that can use it: what becomes of it on the way to the other. */
type Crossings = Readonly<Partial<Record<Dialect, Crossing>>>;

export interface CapabilityRule {
  readonly class: "hard" | "soft";
  readonly crossings: Crossings;
  readonly kind: "use" | "route" | "remainder";
}

const rule =
  (of: CapabilityRule["class"], kind: CapabilityRule["kind"]) =>
  (crossings: Crossings): CapabilityRule => ({ class: of, crossings, kind });

const hard = rule("hard", "use");
const soft = rule("soft", "use");
/** Routes that translate are told by the route table. */
const route = (...dialects: readonly Dialect[]): CapabilityRule =>
  rule("hard", "route")(Object.fromEntries(dialects.map((dialect) => [dialect, "lost"])));

const compat = (crossing: Crossing): Crossings => ({ compat: crossing });
const messages = (crossing: Crossing): Crossings => ({ messages: crossing });
const both = (crossing: Crossing): Crossings => ({ compat: crossing, messages: crossing });

export const CAPABILITIES = {
  tools: hard(both("carried")),
  tool_choice: hard(both("carried")),
  allowed_tools: hard(compat("emulated")),
  parallel_tool_calls: soft(both("carried")),
  strict_tools: soft(both("carried")),
  custom_tools: hard(compat("lost")),
  builtin_tools: hard(messages("lost")),
  server_tools: hard(messages("lost")),
  web_search: hard(both("carried")),
  tool_search: hard(messages("lost")),
  vision: hard(both("carried")),
  documents: hard(both("carried")),
  file_refs: hard(both("lost")),
  audio_input: hard(compat("lost")),
  audio_output: hard(compat("lost")),
  tool_result_media: hard(messages("emulated")),
  tool_errors: soft(messages("emulated")),
  json_schema: hard(both("carried")),
  json_object: hard(compat("lost")),
  sampling: hard(both("carried")),
  temperature_above_one: hard(compat("lost")),
  top_p_pair: soft({ compat: "carried", messages: "emulated" }),
  top_k: hard(both("carried")),
  penalties: hard(compat("lost")),
  logit_bias: hard(compat("lost")),
  logprobs: hard(compat("lost")),
  n: hard(compat("lost")),
  seed: hard(compat("lost")),
  stop: hard(both("carried")),
  prediction: soft(compat("lost")),
  verbosity: soft(compat("lost")),
  thinking: hard(both("carried")),
  thinking_budget: soft({ compat: "carried", messages: "lost" }),
  thinking_forced_tool: soft({ compat: "lost", messages: "emulated" }),
  thinking_replay: hard({ compat: "carried", messages: "optional" }),
  effort: soft(both("carried")),
  prompt_caching: soft(both("carried")),
  cache_ttl: soft({ compat: "emulated", messages: "lost" }),
  cache_prewarm: soft(messages("lost")),
  citations: hard(messages("lost")),
  citation_replay: soft(messages("lost")),
  prefill: hard(both("carried")),
  mid_system: soft({ compat: "carried", messages: "emulated" }),
  service_tier: soft(both("carried")),
  inference_geo: hard(messages("lost")),
  store: soft(compat("lost")),
  metadata: soft(compat("lost")),
  thread: soft(messages("lost")),
  user_id: soft(both("carried")),
  moderation: hard(compat("lost")),
  context_management: hard(messages("lost")),
  streaming: hard(both("carried")),
  stream_usage: soft(compat("emulated")),

  /** A hint without a name of its own: a participant's name, an image's detail, a cache key. Lost in translation only. */
  hint: rule("soft", "remainder")(both("lost")),
  /** A field, block or part that neither dialect is known to have. Passes as bytes; lost in translation only. */
  unknown_field: rule("hard", "remainder")(both("lost")),

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
  models: route("compat", "messages"),
  files: route("compat", "messages"),
  skills: route("compat", "messages"),
} as const satisfies Readonly<Record<string, CapabilityRule>>;

export type Capability = keyof typeof CAPABILITIES;

export function isCapability(name: string): name is Capability {
  return Object.hasOwn(CAPABILITIES, name);
}

/** In the order of the table. */
export const CAPABILITY_NAMES: readonly Capability[] = Object.keys(CAPABILITIES).filter(isCapability);

/** What a channel can claim, and a profile require. */
export const CLAIMABLE_NAMES: readonly Capability[] = CAPABILITY_NAMES.filter(
  (name) => ruleOf(name).kind !== "remainder",
);

export function isClaimable(name: string): name is Capability {
  return isCapability(name) && ruleOf(name).kind !== "remainder";
}

export function ruleOf(name: Capability): CapabilityRule {
  return CAPABILITIES[name];
}

/** All that a request of the dialect can use, routes left out: the sets O (compat) and M (messages). */
export function usableIn(dialect: Dialect): ReadonlySet<Capability> {
  return new Set(CAPABILITY_NAMES.filter((name) => ruleOf(name).kind === "use" && isOf(name, dialect)));
}

/** What a channel without a list of claims is taken to claim: all of its dialect, routes included. */
export function claimableIn(dialect: Dialect): ReadonlySet<Capability> {
  return new Set(CLAIMABLE_NAMES.filter((name) => isOf(name, dialect)));
}

function isOf(name: Capability, dialect: Dialect): boolean {
  return ruleOf(name).crossings[dialect] !== undefined;
}
