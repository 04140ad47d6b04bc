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
