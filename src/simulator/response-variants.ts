/**
 * Variants of healthy answers that a model name can select, as a table: what the provider says, what it accepts, and
 * how far its answers differ from the usual. Faults (`fault-table.ts`) concern delivery; variants are answers and refusals
 * of real providers.
 *
 * Sources: dialects.md sections 1 (limits of models), 3.1 (extensions), 3.3 (deviations of compat providers) and 5.2
 * (stop reasons).
 */

import { matcherOf, type NameRow, partsOf } from "./match-model-name.ts";
import { ODDITIES, type Oddity } from "./stream-oddities.ts";

export interface ResponseVariant {
  /** Number of calls in one turn with calls; 0 for none. */
  readonly calls: number;
  /** Number of rounds of calls and results before the text. */
  readonly rounds: number;
  /** True if text precedes the calls. */
  readonly isTextFirst: boolean;
  /** Number of blocks that a text is split into. */
  readonly texts: number;
  readonly ending: "usual" | "refusal" | "filtered" | "pause" | "context";
  /** True if thinking is encrypted. */
  readonly isRedacted: boolean;
  /** True if the text is a summary of the request as JSON. */
  readonly echoesSummary: boolean;
  /** True if a request for a stream gets a whole body. */
  readonly ignoresStream: boolean;
  /** True if widely used extensions of compat are accepted. */
  readonly acceptsExtensions: boolean;
  /** True if newer members of compat are unknown. */
  readonly isOldCompat: boolean;
  /** True if requests are refused as by reasoning models of compat. */
  readonly isReasoning: boolean;
  readonly refusesSampling: boolean;
  readonly refusesSamplingPair: boolean;
  readonly refusesPrefill: boolean;
  /** Accepted forms of thinking. */
  readonly thinking: "any" | "adaptive" | "manual";
  readonly oddities: ReadonlySet<Oddity>;
}

type VariantRow = NameRow<Partial<ResponseVariant>>;

const DEFAULT_VARIANT: ResponseVariant = {
  calls: 1,
  rounds: 1,
  isTextFirst: false,
  texts: 1,
  ending: "usual",
  isRedacted: false,
  echoesSummary: false,
  ignoresStream: false,
  acceptsExtensions: false,
  isOldCompat: false,
  isReasoning: false,
  refusesSampling: false,
  refusesSamplingPair: false,
  refusesPrefill: false,
  thinking: "any",
  oddities: new Set(),
};

const MAX_CALLS = 64;

export const RESPONSE_VARIANTS: readonly VariantRow[] = [
  {
    name: "sim-calls-<n>",
    example: "sim-calls-3",
    effect: "calls the offered tools in turn, <n> calls at once; one where parallel calls are forbidden, none for 0",
    make: (text) => count(text, 0, MAX_CALLS, (calls) => ({ calls })),
  },
  {
    name: "sim-rounds-<n>",
    example: "sim-rounds-3",
    effect: "calls tools <n> times, after each result, before it answers",
    make: (text) => count(text, 1, MAX_CALLS, (rounds) => ({ rounds })),
  },
  row("text-first", "says a text before it calls a tool", { isTextFirst: true }),
  {
    name: "sim-texts-<n>",
    example: "sim-texts-3",
    effect: "cuts the text of a messages answer into <n> blocks",
    make: (text) => count(text, 1, MAX_CALLS, (texts) => ({ texts })),
  },
  row("refuse", "refuses: `refusal` in compat, `stop_reason: refusal` with details in messages", { ending: "refusal" }),
  row("filtered", "stops half-way: `content_filter` in compat, `refusal` without an explanation in messages", {
    ending: "filtered",
  }),
  row("pause", "ends with `pause_turn` in messages", { ending: "pause" }),
  row("context-full", "ends with `model_context_window_exceeded` in messages, `length` in compat", {
    ending: "context",
  }),
  row("redacted", "returns its thinking encrypted in messages, and only counts it in compat", {
    isRedacted: true,
  }),
  row("echo", "answers with the request as it was understood, as JSON", { echoesSummary: true }),
  row("whole", "answers without streaming although a stream was requested", { ignoresStream: true }),
  row("open", "compat: accepts the widely used extensions (top_k, min_p, thinking, reasoning, cache_control …)", {
    acceptsExtensions: true,
  }),
  row("classic", "compat: does not support max_completion_tokens, developer and other newer members", {
    isOldCompat: true,
  }),
  row("reasoning", "compat: refuses max_tokens, stop and changed sampling, as reasoning models do", {
    isReasoning: true,
  }),
  row("no-sampling", "messages: refuses changed temperature, top_p and top_k", { refusesSampling: true }),
  row("no-sampling-pair", "messages: refuses temperature together with top_p", { refusesSamplingPair: true }),
  row("no-prefill", "messages: refuses a conversation that ends with the assistant", { refusesPrefill: true }),
  row("adaptive-only", "messages: refuses thinking with a budget", { thinking: "adaptive" }),
  row("budget-only", "messages: refuses thinking without a budget", { thinking: "manual" }),
  ...ODDITIES.map(({ kind, effect }): VariantRow => row(`odd-${kind}`, effect, { oddities: new Set([kind]) })),
];

const match = matcherOf(RESPONSE_VARIANTS);

/** Returns the variant of a model name, which is untrusted input of any length. Unknown names, and invalid ones, are ignored. */
export function variantOf(model: string): ResponseVariant {
  let variant = DEFAULT_VARIANT;
  for (const part of partsOf(model)) {
    const found = match(part);
    if (found?.kind !== "made") continue;
    const oddities = new Set([...variant.oddities, ...(found.made.oddities ?? [])]);
    variant = { ...variant, ...found.made, oddities };
  }
  return variant;
}

/** Returns the match of one part of a name, with an unreadable parameter reported, or `undefined` for an unknown name. */
export function matchVariant(part: string): ReturnType<typeof match> {
  return match(part);
}

function row(name: string, effect: string, made: Partial<ResponseVariant>): VariantRow {
  return { name: `sim-${name}`, example: `sim-${name}`, effect, make: () => made };
}

function count(
  text: string,
  min: number,
  max: number,
  make: (n: number) => Partial<ResponseVariant>,
): Partial<ResponseVariant> | undefined {
  return /^\d{1,3}$/.test(text) && Number(text) >= min && Number(text) <= max ? make(Number(text)) : undefined;
}
