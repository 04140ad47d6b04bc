/**
 * Normalizes the `usage` value of an answer, whatever its shape, to `Usage`.
 *
 * Source: dialects reference, 3.2, 4 and 5.2; lesson P35. The names identify the shape: chat and completions have
 * `prompt_tokens`, everything else `input_tokens`. In the compat dialect the input is the total, and the cache counts are parts
 * of it, whatever their names; in the messages dialect they are in addition to `input_tokens`. Details are called
 * `..._tokens_details`, and `..._token_details` in realtime and transcriptions.
 *
 * The value is not trusted: a count that is not a number from 0 to `MAX_COUNT` counts as absent, a part is never larger than
 * its whole, sums are capped at `MAX_COUNT`, and nothing throws. `isDoubtful` detects impossible values. Some hosts report a
 * count as text, or compute it from a price and report a fraction (OpenRouter's images), which is rounded up.
 */

import { listOf, objectOf, type Values } from "../json/json-values.ts";
import type { Dialect } from "../routes/routes.ts";
import type { Usage } from "./usage.ts";

/** Maximum of a count, far above any request of either dialect; sums of it are exact. */
export const MAX_COUNT = 1e12;

/** Counts that a provider reported; `undefined` for counts that it left out. */
export interface UsageCounts {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly total: number | undefined;
  readonly cached: number | undefined;
  readonly cacheCreation: number | undefined;
  readonly reasoning: number | undefined;
  /** Usage of further model calls of the same answer, which the other counts leave out. */
  readonly furtherCalls?: Readonly<Record<"input" | "output" | "cached" | "cacheCreation", number>> | undefined;
}

/**
 * Returns the usage, or `undefined` if the value is not an object or has no count, as for a transcription that is billed by its
 * duration.
 */
export function normalizeUsage(dialect: Dialect, value: unknown): Usage | undefined {
  const counts = countsOf(dialect, value);
  return counts && usageOf(dialect, counts);
}

/** Returns the reported counts, or `undefined` if there are none. Used if an answer reports them in several places. */
export function countsOf(dialect: Dialect, value: unknown): UsageCounts | undefined {
  const usage = objectOf(value);
  if (usage === undefined) return undefined;
  if (dialect === "messages") return withAnyCount(messagesCounts(usage));
  return withAnyCount(compatCounts(usage)) ?? nestedCounts(usage);
}

function withAnyCount(counts: UsageCounts): UsageCounts | undefined {
  const { input, output, total, cached, cacheCreation, reasoning, furtherCalls } = counts;
  const known = input ?? output ?? total ?? cached ?? cacheCreation ?? reasoning ?? furtherCalls;
  return known === undefined ? undefined : counts;
}

/** Objects within the usage in which Cohere, and rerankers that follow it, report the counts: processed, and billed. */
const NESTED_USAGE = ["tokens", "billed_units"];

/** Returns the first counts of `NESTED_USAGE` that are not all zero, otherwise the first ones. */
function nestedCounts(usage: Values): UsageCounts | undefined {
  const found = NESTED_USAGE.map((name) => withAnyCount(compatCounts(objectOf(usage[name]) ?? {})));
  const nonzero = found.find((counts) => Boolean(counts?.input || counts?.output || counts?.total));
  return nonzero ?? found.find((counts) => counts !== undefined);
}

/** Merges counts: those in `reported` replace the known ones. */
export function mergeCounts(known: UsageCounts | undefined, reported: UsageCounts): UsageCounts {
  return {
    input: reported.input ?? known?.input,
    output: reported.output ?? known?.output,
    total: reported.total ?? known?.total,
    cached: reported.cached ?? known?.cached,
    cacheCreation: reported.cacheCreation ?? known?.cacheCreation,
    reasoning: reported.reasoning ?? known?.reasoning,
    furtherCalls: reported.furtherCalls ?? known?.furtherCalls,
  };
}

/**
 * Names of the cache counts in the compat dialect, beside the total or in its details. Some hosts keep the names of the
 * messages dialect, or report the cached part of the input beside it.
 */
const CACHED_NAMES = ["cached_tokens", "cache_read_input_tokens", "prompt_cache_hit_tokens", "num_cached_tokens"];
const CACHE_CREATION_NAMES = ["cache_write_tokens", "cache_creation_input_tokens", "cache_creation_tokens"];
const DETAIL_NAMES = [...CACHED_NAMES, ...CACHE_CREATION_NAMES];

/** Names of counts by the object that contains them; an empty name is the usage itself. */
const COUNT_NAMES: Readonly<Record<Dialect, readonly (readonly [place: string, names: readonly string[]])[]>> = {
  messages: Object.entries({
    "": ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"],
    output_tokens_details: ["thinking_tokens"],
  }),
  compat: Object.entries({
    "": [
      "prompt_tokens",
      "input_tokens",
      "completion_tokens",
      "output_tokens",
      "total_tokens",
      ...CACHED_NAMES,
      ...CACHE_CREATION_NAMES,
    ],
    prompt_tokens_details: DETAIL_NAMES,
    prompt_token_details: DETAIL_NAMES,
    input_tokens_details: DETAIL_NAMES,
    input_token_details: DETAIL_NAMES,
    completion_tokens_details: ["reasoning_tokens"],
    output_tokens_details: ["reasoning_tokens"],
    output_token_details: ["reasoning_tokens"],
    ...Object.fromEntries(NESTED_USAGE.map((name) => [name, ["input_tokens", "output_tokens", "total_tokens"]])),
  }),
};

/**
 * Returns whether the value has an impossible count: negative, beyond `MAX_COUNT`, or not a number. Such a count is treated as
 * absent, so the remaining usage may be too small. `null` is a way to leave a count out.
 */
export function isDoubtful(dialect: Dialect, value: unknown): boolean {
  const usage = objectOf(value);
  if (usage === undefined) return false;
  for (const [place, names] of COUNT_NAMES[dialect]) {
    const counts = place === "" ? usage : objectOf(usage[place]);
    if (counts === undefined) continue;
    for (const name of names) {
      if (counts[name] !== undefined && counts[name] !== null && countOf(counts, name) === undefined) return true;
    }
  }
  return false;
}

function messagesCounts(usage: Values): UsageCounts {
  return {
    input: countOf(usage, "input_tokens"),
    output: countOf(usage, "output_tokens"),
    total: undefined,
    cached: countOf(usage, "cache_read_input_tokens"),
    cacheCreation: countOf(usage, "cache_creation_input_tokens"),
    reasoning: countOf(objectOf(usage["output_tokens_details"]), "thinking_tokens"),
    furtherCalls: usageOfFurtherCalls(usage["iterations"]),
  };
}

/**
 * Types of the entries of `iterations` whose tokens the usage itself leaves out: the summary of a conversation that became too
 * long, and the advice of another model. They are billed all the same.
 */
const FURTHER_CALL_TYPES: ReadonlySet<unknown> = new Set(["compaction", "advisor_message"]);

function usageOfFurtherCalls(iterations: unknown): UsageCounts["furtherCalls"] {
  let sum: UsageCounts["furtherCalls"];
  for (const each of listOf(iterations)) {
    const entry = objectOf(each);
    if (entry === undefined || !FURTHER_CALL_TYPES.has(entry["type"])) continue;
    const { input = 0, output = 0, cached = 0, cacheCreation = 0 } = messagesCounts({ ...entry, iterations: null });
    sum = {
      input: input + (sum?.input ?? 0),
      output: output + (sum?.output ?? 0),
      cached: cached + (sum?.cached ?? 0),
      cacheCreation: cacheCreation + (sum?.cacheCreation ?? 0),
    };
  }
  return sum;
}

function compatCounts(usage: Values): UsageCounts {
  const input = firstObject(
    usage,
    "prompt_tokens_details",
    "input_tokens_details",
    "input_token_details",
    "prompt_token_details",
  );
  const output = firstObject(usage, "completion_tokens_details", "output_tokens_details", "output_token_details");
  return {
    input: countOf(usage, "prompt_tokens") ?? countOf(usage, "input_tokens"),
    output: countOf(usage, "completion_tokens") ?? countOf(usage, "output_tokens"),
    total: countOf(usage, "total_tokens"),
    // Whatever the name, these counts are included in the input.
    cached: firstCount(input, CACHED_NAMES) ?? firstCount(usage, CACHED_NAMES),
    cacheCreation: firstCount(input, CACHE_CREATION_NAMES) ?? firstCount(usage, CACHE_CREATION_NAMES),
    reasoning: countOf(output, "reasoning_tokens"),
  };
}

export function usageOf(dialect: Dialect, reported: UsageCounts): Usage {
  const counts = withFurtherCalls(reported);
  const { cached = 0, cacheCreation = 0, reasoning = 0 } = counts;
  const { input, output, hidden = 0 } = dialect === "messages" ? messagesTotals(counts) : compatTotals(counts);
  const cachedInputTokens = Math.min(cached, input);
  return {
    inputTokens: input,
    outputTokens: output,
    // A total below the sum of input and output is wrong, so the sum is used.
    totalTokens: Math.max(counts.total ?? 0, Math.min(MAX_COUNT, input + output)),
    cachedInputTokens,
    cacheCreationInputTokens: Math.min(cacheCreation, input - cachedInputTokens),
    reasoningTokens: Math.min(reasoning + hidden, output),
  };
}

/** Returns the counts including those of further model calls. */
function withFurtherCalls(counts: UsageCounts): UsageCounts {
  const { furtherCalls, input = 0, output, cached = 0, cacheCreation = 0, reasoning = 0 } = counts;
  if (furtherCalls === undefined) return counts;
  return {
    ...counts,
    input: input + furtherCalls.input,
    output: Math.min(MAX_COUNT, (output ?? reasoning) + furtherCalls.output),
    cached: Math.min(MAX_COUNT, cached + furtherCalls.cached),
    cacheCreation: Math.min(MAX_COUNT, cacheCreation + furtherCalls.cacheCreation),
  };
}

interface Totals {
  readonly input: number;
  readonly output: number;
  /** Part of the output that only the total shows. */
  readonly hidden?: number;
}

function messagesTotals({ input = 0, output, cached = 0, cacheCreation = 0, reasoning = 0 }: UsageCounts): Totals {
  return { input: Math.min(MAX_COUNT, input + cached + cacheCreation), output: output ?? reasoning };
}

/**
 * Returns the totals. A missing count is the rest of the total (embeddings have no output, some rerankers only the total), or
 * else the sum of its parts.
 */
function compatTotals({ input, output, total, cached = 0, cacheCreation = 0, reasoning = 0 }: UsageCounts): Totals {
  if (total !== undefined && input === undefined) {
    return { input: Math.max(0, total - (output ?? 0)), output: output ?? 0 };
  }
  const cache = Math.min(MAX_COUNT, cached + cacheCreation);
  const whole = input ?? cache;
  if (total === undefined) return { input: whole, output: output ?? reasoning };
  if (output === undefined) return { input: whole, output: Math.max(0, total - whole) };
  return withRest({ input: whole, output }, total - whole - output, { cache, reasoning });
}

/**
 * Adds the part of the total that input and output leave out: the cache (bridges to messages providers), reasoning (xAI), or
 * output that no other count shows. The latter is thinking that Gemini bills as output.
 */
function withRest(
  { input, output }: Totals,
  rest: number,
  { cache, reasoning }: { readonly cache: number; readonly reasoning: number },
): Totals {
  if (rest <= 0) return { input, output };
  const isCacheBeside = cache > 0 && rest !== reasoning && (rest === cache || rest === cache + reasoning);
  if (isCacheBeside) return { input: input + cache, output: output + rest - cache };
  return { input, output: output + rest, hidden: reasoning === 0 ? rest : 0 };
}

function countOf(values: Values | undefined, name: string): number | undefined {
  const value = values?.[name];
  const count = typeof value === "string" && COUNT_TEXT.test(value) ? Number(value) : value;
  // Adding zero turns -0, which JSON can express, into 0.
  return typeof count === "number" && count >= 0 && count <= MAX_COUNT ? Math.ceil(count) + 0 : undefined;
}

/** Matches a count that is written as text. */
const COUNT_TEXT = /^\d{1,13}(?:\.\d{1,20})?$/;

function firstCount(values: Values | undefined, names: readonly string[]): number | undefined {
  for (const name of names) {
    const count = countOf(values, name);
    if (count !== undefined) return count;
  }
  return undefined;
}

function firstObject(values: Values, ...names: readonly string[]): Values | undefined {
  for (const name of names) {
    const object = objectOf(values[name]);
    if (object !== undefined) return object;
  }
  return undefined;
}
