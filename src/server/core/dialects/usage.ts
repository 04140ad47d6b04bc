/**
 * What a request used, in tokens, in the one sense that both dialects are brought to at the edge.
 *
 * Invariants: `cachedInputTokens` and `cacheCreationInputTokens` are parts of `inputTokens`, `reasoningTokens` is a
 * part of `outputTokens`; counts are whole and not negative. `totalTokens` is what the provider says, or input and
 * output together. Source: decisions, section 6 (`InputToken`); dialects reference, 3 and 5.
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
 * Of each class the larger: what was told to be used cannot be unused. The total is as told, at least; the sum of the wholes
 * where nobody tells it.
 */
export function raiseUsage(before: Usage, now: Usage, isTotalTold: boolean): Usage {
  const inputTokens = Math.max(before.inputTokens, now.inputTokens);
  const outputTokens = Math.max(before.outputTokens, now.outputTokens);
  const cachedInputTokens = Math.max(before.cachedInputTokens, now.cachedInputTokens);
  const created = Math.max(before.cacheCreationInputTokens, now.cacheCreationInputTokens);
  return {
    inputTokens,
    outputTokens,
    totalTokens: Math.max(before.totalTokens, now.totalTokens, isTotalTold ? 0 : inputTokens + outputTokens),
    cachedInputTokens,
    cacheCreationInputTokens: Math.min(created, inputTokens - cachedInputTokens),
    reasoningTokens: Math.max(before.reasoningTokens, now.reasoningTokens),
  };
}

/** Of several answers within one charge: a WebSocket session reports each of its responses by itself. */
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
