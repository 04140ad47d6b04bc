/** Converts finish reasons between the dialects. Source: dialects reference, 8.5. */

const FINISH_REASONS: ReadonlyMap<unknown, string> = new Map([
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
]);

const STOP_REASONS: ReadonlyMap<unknown, string> = new Map([
  ["length", "max_tokens"],
  ["tool_calls", "tool_use"],
  ["function_call", "tool_use"],
  ["content_filter", "refusal"],
]);

/** Converts `stop_reason` to `finish_reason`. Any other reason, such as a finished or paused turn, is a plain stop. */
export function finishReason(stopReason: unknown): string {
  return FINISH_REASONS.get(stopReason) ?? "stop";
}

/**
 * Converts `finish_reason` to `stop_reason`. Many providers send `stop` after tool calls, or nothing: an answer with calls
 * ended with them, whatever its reason (dialects reference, 9.2).
 */
export function stopReason(finishReason: unknown, hasToolUse: boolean): string {
  if (hasToolUse) return "tool_use";
  const named = STOP_REASONS.get(finishReason);
  return named === undefined || named === "tool_use" ? "end_turn" : named;
}
