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

/** From the form of a request to that of what its channel is sent. */
export type Way = "chat>messages" | "messages>chat" | "responses>messages" | "responses>chat";

/** By the ways of requests that can use it: what becomes of it. A route is named by what it leaves from. */
type Crossings = Readonly<Partial<Record<Way, Crossing>>>;

export interface CapabilityRule {
  readonly class: "hard" | "soft";
  readonly crossings: Crossings;
  /** Whose channels can have it. */
  readonly dialects: readonly Dialect[];
  readonly kind: "use" | "route" | "remainder";
}

const rule =
  (of: CapabilityRule["class"], kind: CapabilityRule["kind"]) =>
  (crossings: Crossings): CapabilityRule => ({ class: of, crossings, dialects: dialectsOf(crossings), kind });

/** A channel of the dialect has what its own older form can say. */
function dialectsOf(crossings: Crossings): readonly Dialect[] {
  const found: Dialect[] = [];
  if (crossings["chat>messages"] !== undefined) found.push("compat");
  if (crossings["messages>chat"] !== undefined) found.push("messages");
  return found;
}

const hard = rule("hard", "use");
const soft = rule("soft", "use");
/** Routes that translate are told by the route table. */
const route = (...dialects: readonly Dialect[]): CapabilityRule => ({
  class: "hard",
  crossings: {},
  dialects,
  kind: "route",
});
/** Of requests for responses alone: passes as bytes, and no channel claims it. */
const remainder = (of: CapabilityRule["class"], toMessages: Crossing, toChat = toMessages): CapabilityRule =>
  rule(of, "remainder")(responses(toMessages, toChat));

function compat(crossing: Crossing, ...asResponse: readonly [] | readonly [Crossing, Crossing]): Crossings {
  return { "chat>messages": crossing, ...responses(...asResponse) };
}
function messages(crossing: Crossing, ...asResponse: readonly [] | readonly [Crossing, Crossing]): Crossings {
  return { "messages>chat": crossing, ...responses(...asResponse) };
}
function both(crossing: Crossing, ...asResponse: readonly [] | readonly [Crossing, Crossing]): Crossings {
  return { "chat>messages": crossing, "messages>chat": crossing, ...responses(...asResponse) };
}
function responses(...[toMessages, toChat]: readonly [] | readonly [Crossing, Crossing]): Crossings {
  return toMessages === undefined || toChat === undefined
    ? {}
    : { "responses>messages": toMessages, "responses>chat": toChat };
}

export const CAPABILITIES = {
  tools: hard(both("carried", "carried", "carried")),
  tool_choice: hard(both("carried", "carried", "carried")),
  allowed_tools: hard(compat("emulated", "emulated", "emulated")),
  parallel_tool_calls: soft(both("carried", "carried", "carried")),
  strict_tools: soft(both("carried", "carried", "carried")),
  custom_tools: hard(compat("lost", "emulated", "emulated")),
  builtin_tools: hard(messages("lost", "lost", "lost")),
  server_tools: hard(messages("lost", "lost", "lost")),
  web_search: hard(both("carried", "lost", "lost")),
  tool_search: hard(messages("lost", "lost", "lost")),
  vision: hard(both("carried", "carried", "carried")),
  documents: hard(both("carried", "carried", "carried")),
  file_refs: hard(both("lost", "lost", "lost")),
  audio_input: hard(compat("lost", "lost", "carried")),
  audio_output: hard(compat("lost")),
  tool_result_media: hard(messages("emulated", "carried", "emulated")),
  tool_errors: soft(messages("emulated")),
  json_schema: hard(both("carried", "carried", "carried")),
  json_object: hard(compat("lost", "lost", "carried")),
  sampling: hard(both("carried", "carried", "carried")),
  temperature_above_one: hard(compat("lost", "lost", "carried")),
  top_p_pair: soft({ "chat>messages": "carried", "messages>chat": "emulated", ...responses("carried", "emulated") }),
  top_k: hard(both("carried")),
  penalties: hard(compat("lost")),
  logit_bias: hard(compat("lost")),
  logprobs: hard(compat("lost", "lost", "carried")),
  n: hard(compat("lost")),
  seed: hard(compat("lost")),
  stop: hard(both("carried")),
  prediction: soft(compat("lost")),
  verbosity: soft(compat("lost", "lost", "carried")),
  thinking: hard(both("carried", "carried", "carried")),
  thinking_budget: soft({ "chat>messages": "carried", "messages>chat": "lost" }),
  thinking_forced_tool: soft({
    "chat>messages": "lost",
    "messages>chat": "emulated",
    ...responses("lost", "emulated"),
  }),
  thinking_replay: hard({
    "chat>messages": "carried",
    "messages>chat": "optional",
    ...responses("optional", "optional"),
  }),
  effort: soft(both("carried", "carried", "carried")),
  prompt_caching: soft(both("carried", "carried", "carried")),
  cache_ttl: soft({ "chat>messages": "emulated", "messages>chat": "lost", ...responses("emulated", "carried") }),
  cache_prewarm: soft(messages("lost", "lost", "lost")),
  citations: hard(messages("lost")),
  citation_replay: soft(messages("lost", "lost", "lost")),
  prefill: hard(both("carried", "carried", "carried")),
  mid_system: soft({ "chat>messages": "carried", "messages>chat": "emulated", ...responses("carried", "carried") }),
  service_tier: soft(both("carried", "carried", "carried")),
  inference_geo: hard(messages("lost")),
  store: soft(compat("lost", "lost", "lost")),
  metadata: soft(compat("lost", "lost", "lost")),
  thread: soft(messages("lost")),
  user_id: soft(both("carried", "carried", "carried")),
  moderation: hard(compat("lost", "lost", "lost")),
  context_management: hard(messages("lost")),
  streaming: hard(both("carried", "carried", "carried")),
  stream_usage: soft(compat("emulated")),

  /** A response, conversation or item that the provider is taken to hold. */
  stored_responses: remainder("hard", "lost"),
  /** A prompt that the provider is taken to hold. */
  stored_prompts: remainder("hard", "lost"),
  background: remainder("hard", "lost"),
  /** A history that only its maker can read, or the making of one. */
  compaction: remainder("hard", "lost"),
  programmatic_tools: remainder("hard", "lost"),
  async_tools: remainder("hard", "lost"),
  /** Tools of the provider's that are offered, and that nobody must call. */
  hosted_tools: remainder("soft", "lost"),
  /** What such tools did. */
  hosted_history: remainder("soft", "lost"),
  /** The grammar of a custom tool's input, which is asked for in words. */
  tool_grammar: remainder("soft", "lost"),
  tool_namespaces: remainder("hard", "emulated"),

  /** A hint without a name of its own: a participant's name, an image's detail, a cache key. Lost in translation only. */
  hint: rule("soft", "remainder")(both("lost", "lost", "lost")),
  /** A field, block or part that neither dialect is known to have. Passes as bytes; lost in translation only. */
  unknown_field: rule("hard", "remainder")(both("lost", "lost", "lost")),

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
  return ruleOf(name).dialects.includes(dialect);
}
