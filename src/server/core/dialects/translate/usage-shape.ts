/** Writes usage in the shape of each form, from the common `Usage`. Source: dialects reference, 8.5. */
import type { Usage } from "../usage/usage.ts";

/** Returns compat usage. Input includes cache reads and writes; output includes reasoning. */
export function compatUsage(usage: Usage): object {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.totalTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cachedInputTokens,
      cache_write_tokens: usage.cacheCreationInputTokens,
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

/**
 * Returns the usage of a response, with the same counts as `compatUsage`. All members are present, and the total is their sum.
 */
export function responsesUsage({ inputTokens, outputTokens, ...parts }: Usage): object {
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: parts.cachedInputTokens,
      cache_write_tokens: parts.cacheCreationInputTokens,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: parts.reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

/** Returns messages usage. Input excludes cache reads and writes; output includes thinking. */
export function messagesUsage(usage: Usage): object {
  const { inputTokens, cachedInputTokens, cacheCreationInputTokens } = usage;
  return {
    input_tokens: inputTokens - cachedInputTokens - cacheCreationInputTokens,
    cache_creation_input_tokens: cacheCreationInputTokens,
    cache_read_input_tokens: cachedInputTokens,
    output_tokens: usage.outputTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
  };
}
