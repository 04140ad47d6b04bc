/**
 * Capability vocabulary: one name for each feature that a request can use and a channel can lack, and how the feature is
 * translated to the other dialect.
 *
 * Source: dialects reference, section 7, with the soft additions of design decisions, section 6. `hard`: a channel that lacks
 * the capability is refused, since losing it changes the meaning of the request. `soft`: a hint, whose loss is only counted.
 * Route capabilities name the routes that a channel serves; they are hard. Losses are reported in the order of the table.
 */
import type { Dialect } from "../routes/routes.ts";

/**
 * Result of translating a capability. `carried`: translated if the channel claims it, otherwise lost. `optional`: as
 * `carried`, but losing it never refuses the request. `emulated`: translated in a way that needs no claim of the channel.
 * `lost`: there is no equivalent.
 */
type TranslationOutcome = "carried" | "optional" | "emulated" | "lost";

/** Direction of a translation: the form of the client's request, and the form that the channel gets. */
export type TranslationDirection = "chat>messages" | "messages>chat" | "responses>messages" | "responses>chat";

/** Crossing for each direction in which the capability can be used. */
type TranslationOutcomes = Readonly<Partial<Record<TranslationDirection, TranslationOutcome>>>;

interface CapabilityRule {
  readonly class: "hard" | "soft";
  readonly outcomes: TranslationOutcomes;
  /** Dialects whose channels can have the capability. */
  readonly dialects: readonly Dialect[];
  readonly kind: "use" | "route" | "remainder";
}

const rule =
  (lossClass: CapabilityRule["class"], kind: CapabilityRule["kind"]) =>
  (outcomes: TranslationOutcomes): CapabilityRule => ({
    class: lossClass,
    outcomes: outcomes,
    dialects: dialectsOf(outcomes),
    kind,
  });

/** Returns the dialects that can express the capability in chat completions or messages, that is, outside of `responses`. */
function dialectsOf(outcomes: TranslationOutcomes): readonly Dialect[] {
  const found: Dialect[] = [];
  if (outcomes["chat>messages"] !== undefined) found.push("compat");
  if (outcomes["messages>chat"] !== undefined) found.push("messages");
  return found;
}

const hard = rule("hard", "use");
const soft = rule("soft", "use");
/** Returns the rule of a route. The route table says which routes are translated. */
const route = (...dialects: readonly Dialect[]): CapabilityRule => ({
  class: "hard",
  outcomes: {},
  dialects,
  kind: "route",
});
/** Returns the rule of a capability that only `responses` requests have: it passes as bytes, and no channel claims it. */
const remainder = (
  lossClass: CapabilityRule["class"],
  toMessages: TranslationOutcome,
  toChat = toMessages,
): CapabilityRule => rule(lossClass, "remainder")(responses(toMessages, toChat));

function compat(
  outcome: TranslationOutcome,
  ...asResponse: readonly [] | readonly [TranslationOutcome, TranslationOutcome]
): TranslationOutcomes {
  return { "chat>messages": outcome, ...responses(...asResponse) };
}
function messages(
  outcome: TranslationOutcome,
  ...asResponse: readonly [] | readonly [TranslationOutcome, TranslationOutcome]
): TranslationOutcomes {
  return { "messages>chat": outcome, ...responses(...asResponse) };
}
function both(
  outcome: TranslationOutcome,
  ...asResponse: readonly [] | readonly [TranslationOutcome, TranslationOutcome]
): TranslationOutcomes {
  return { "chat>messages": outcome, "messages>chat": outcome, ...responses(...asResponse) };
}
function responses(
  ...[toMessages, toChat]: readonly [] | readonly [TranslationOutcome, TranslationOutcome]
): TranslationOutcomes {
  return toMessages === undefined || toChat === undefined
    ? {}
    : { "responses>messages": toMessages, "responses>chat": toChat };
}

const CAPABILITIES = {
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

  /** Use of a response, conversation or item that the provider has stored. */
  stored_responses: remainder("hard", "lost"),
  /** Use of a prompt that the provider has stored. */
  stored_prompts: remainder("hard", "lost"),
  background: remainder("hard", "lost"),
  /** Compacted history that only its provider can read, or a request to create one. */
  compaction: remainder("hard", "lost"),
  programmatic_tools: remainder("hard", "lost"),
  async_tools: remainder("hard", "lost"),
  /** Tools of the provider that are offered but not required. */
  hosted_tools: remainder("soft", "lost"),
  /** Results of tools of the provider. */
  hosted_history: remainder("soft", "lost"),
  /** Grammar of a custom tool's input. It is described in words instead. */
  tool_grammar: remainder("soft", "lost"),
  tool_namespaces: remainder("hard", "emulated"),

  /** Hint without a name of its own: a participant's name, an image's detail, a cache key. It is only lost in translation. */
  hint: rule("soft", "remainder")(both("lost", "lost", "lost")),
  /** Field, block or part that neither dialect is known to have. It passes unchanged and is only lost in translation. */
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
  /** Every other path below `/v1/`, forwarded unchanged. */
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

/** Names of all capabilities, in the order of the table. */
export const CAPABILITY_NAMES: readonly Capability[] = Object.keys(CAPABILITIES).filter(isCapability);

/** Names that a channel can claim and a profile can require. */
export const CLAIMABLE_NAMES: readonly Capability[] = CAPABILITY_NAMES.filter(
  (name) => ruleOf(name).kind !== "remainder",
);

export function isClaimable(name: string): name is Capability {
  return isCapability(name) && ruleOf(name).kind !== "remainder";
}

export function ruleOf(name: Capability): CapabilityRule {
  return CAPABILITIES[name];
}

/** Returns every capability that a request of the dialect can use, without routes: the sets O (compat) and M (messages). */
export function capabilitiesOf(dialect: Dialect): ReadonlySet<Capability> {
  return new Set(CAPABILITY_NAMES.filter((name) => ruleOf(name).kind === "use" && isOf(name, dialect)));
}

/** Returns the claims of a channel without a list of claims: every capability of its dialect, routes included. */
export function defaultClaims(dialect: Dialect): ReadonlySet<Capability> {
  return new Set(CLAIMABLE_NAMES.filter((name) => isOf(name, dialect)));
}

function isOf(name: Capability, dialect: Dialect): boolean {
  return ruleOf(name).dialects.includes(dialect);
}
