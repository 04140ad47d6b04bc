/**
 * Converts finish reasons between the dialects. Source: dialects reference, 8.5; reasons outside the dialects' own lists as
 * compat hosts and model servers document them.
 */

/** Finish reasons of the compat dialect by the words that hosts and the messages dialect have for them. */
const FINISH_REASONS: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "length"],
  ["max_output_tokens", "length"],
  ["model_length", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["tool_call", "tool_calls"],
  ["refusal", "content_filter"],
  ["sensitive", "content_filter"],
  ["safety", "content_filter"],
  ["recitation", "content_filter"],
  ["prohibited_content", "content_filter"],
  ["blocklist", "content_filter"],
  ["spii", "content_filter"],
]);

const STOP_REASONS: ReadonlyMap<string, string> = new Map([
  ["length", "max_tokens"],
  ["content_filter", "refusal"],
]);

/** Reasons with which hosts and model servers end an answer that they could not finish. */
const FAILURES: ReadonlySet<string> = new Set([
  "error",
  "network_error",
  "insufficient_system_resource",
  "abort",
  "aborted",
  "function_call_filter",
  "malformed_function_call",
]);

/**
 * Returns the finish reason in the word of the compat dialect, or as it is if it has none there. Letter case does not matter,
 * and some hosts add a detail after a colon.
 */
export function usualFinish(finishReason: unknown): unknown {
  if (typeof finishReason !== "string") return finishReason;
  const word = wordOf(finishReason);
  return FINISH_REASONS.get(word) ?? word;
}

/** Returns whether the provider ended its answer because it failed. */
export const isFailedFinish = (finishReason: unknown): boolean =>
  typeof finishReason === "string" && FAILURES.has(wordOf(finishReason));

const wordOf = (finishReason: string): string => (finishReason.split(":", 1)[0] ?? "").trim().toLowerCase();

/** Converts `stop_reason` to `finish_reason`. Any other reason, such as a finished or paused turn, is a plain stop. */
export function finishReason(stopReason: unknown): string {
  const mapped = usualFinish(stopReason);
  return mapped === "length" || mapped === "tool_calls" || mapped === "content_filter" ? mapped : "stop";
}

/**
 * Converts `finish_reason` to `stop_reason`. Many providers send `stop` after tool calls, or nothing: an answer with calls
 * ended with them, whatever its reason (dialects reference, 9.2).
 */
export function stopReason(finishReason: unknown, hasToolUse: boolean): string {
  if (hasToolUse) return "tool_use";
  const mapped = usualFinish(finishReason);
  return (typeof mapped === "string" && STOP_REASONS.get(mapped)) || "end_turn";
}
