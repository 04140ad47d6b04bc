/**
 * Usage of a request in tokens, with the same meaning for both dialects.
 *
 * Invariants: `cachedInputTokens` and `cacheCreationInputTokens` are parts of `inputTokens`, `reasoningTokens` is a part of
 * `outputTokens`; counts are whole and not negative. `totalTokens` is the provider's total, or the sum of input and output.
 * Source: decisions, section 6 (`InputToken`); dialects reference, 3 and 5.
 */

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheCreationInputTokens: number;
  readonly reasoningTokens: number;
}

export const NO_USAGE: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cachedInputTokens: 0,
  cacheCreationInputTokens: 0,
  reasoningTokens: 0,
};

/**
 * Returns the larger count of each class, since reported usage never decreases. The total is at least the reported one, or the
 * sum of input and output if none was reported.
 */
export function raiseUsage(before: Usage, now: Usage, isTotalReported: boolean): Usage {
  const inputTokens = Math.max(before.inputTokens, now.inputTokens);
  const outputTokens = Math.max(before.outputTokens, now.outputTokens);
  const cachedInputTokens = Math.max(before.cachedInputTokens, now.cachedInputTokens);
  const created = Math.max(before.cacheCreationInputTokens, now.cacheCreationInputTokens);
  return {
    inputTokens,
    outputTokens,
    totalTokens: Math.max(before.totalTokens, now.totalTokens, isTotalReported ? 0 : inputTokens + outputTokens),
    cachedInputTokens,
    cacheCreationInputTokens: Math.min(created, inputTokens - cachedInputTokens),
    reasoningTokens: Math.max(before.reasoningTokens, now.reasoningTokens),
  };
}

/** Adds the usage of two answers that are charged together: a WebSocket session reports each of its responses separately. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheCreationInputTokens: a.cacheCreationInputTokens + b.cacheCreationInputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
}
