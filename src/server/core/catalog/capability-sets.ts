/**
 * Capability sets and flags that the tables of `presets/` use for their claims. Source: provider catalog reference, 1.4.
 *
 * A set is exact: a capability that is not in it is not claimed. Every set includes the routes that the API serves.
 */

import { type Capability, capabilitiesOf } from "../dialects/index.ts";

export type Claims = ReadonlySet<Capability>;

/** `V` vision, `D` documents, `A` audio input, `J` JSON schema, `R` reasoning, `L` log probabilities, `N` n answers. */
const FLAGS = {
  V: ["vision"],
  D: ["documents"],
  A: ["audio_input"],
  J: ["json_schema"],
  R: ["thinking", "effort"],
  L: ["logprobs"],
  N: ["n"],
  E: ["embeddings"],
  I: ["images"],
  T: ["audio_transcription"],
  X: ["responses"],
  B: ["batches"],
  W: ["realtime"],
  RR: ["rerank"],
} as const satisfies Readonly<Record<string, readonly Capability[]>>;

type Flag = keyof typeof FLAGS;

const STANDARD: readonly Capability[] = [
  "chat_completions",
  "models",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "json_object",
  "sampling",
  "temperature_above_one",
  "top_k",
  "penalties",
  "seed",
  "stop",
  "streaming",
  "stream_usage",
  "mid_system",
];

/** Capabilities assumed for another maker's messages API if its documentation does not list them. */
const KERNEL: readonly Capability[] = [
  "messages",
  "tools",
  "tool_choice",
  "tool_errors",
  "sampling",
  "stop",
  "thinking",
  "thinking_budget",
  "thinking_replay",
  "streaming",
];

const flagged = (flags: readonly Flag[]): readonly Capability[] => flags.flatMap((flag) => FLAGS[flag]);

/** Returns every capability that the compat dialect can express, with `flags`. */
export const O = (...flags: readonly Flag[]): Claims =>
  new Set([...capabilitiesOf("compat"), "chat_completions", "models", ...flagged(flags)]);

/**
 * Returns every capability that the messages dialect can express, except `mid_system`, which few APIs accept, and `thread`,
 * which the official SDK only requests from the maker's own API.
 */
export const M = (): Claims => without(new Set([...capabilitiesOf("messages"), "messages"]), "mid_system", "thread");

/** Returns the capabilities that hosts of open models usually have, with `flags`. */
export const S = (...flags: readonly Flag[]): Claims => new Set([...STANDARD, ...flagged(flags)]);

export const K = (): Claims => new Set(KERNEL);

export const exactly = (...names: readonly Capability[]): Claims => new Set(names);

export const plus = (claims: Claims, ...names: readonly Capability[]): Claims => new Set([...claims, ...names]);

export function without(claims: Claims, ...names: readonly Capability[]): Claims {
  const missing = new Set(names);
  return new Set([...claims].filter((name) => !missing.has(name)));
}
