/** Converts the ending of an answer, and its usage, to the messages dialect. Source: dialects reference, 8.5 and 9.2. */
import { NO_USAGE, type Usage } from "../../usage/usage.ts";
import type { ArgumentsState } from "../chat-answers/arguments-scan.ts";
import { checkFinish } from "../chat-answers/chat-answer-parts.ts";
import { stopReason, usualFinish } from "../finish-reasons.ts";
import { messagesUsage } from "../usage-shape.ts";
import type { MessageEnd } from "./event-frames.ts";

interface AnswerEnd {
  /** Finish reason from the provider; many send none. */
  readonly finishReason: unknown;
  /** States of the arguments of all calls; empty if there are no calls. */
  readonly arguments: ReadonlySet<ArgumentsState>;
  /** Text of the refusal; empty if there is none. */
  readonly refusal: string;
}

/**
 * Returns the ending. If the provider ran out of tokens, a call may be cut off, even before its arguments began. The stop
 * reason is then the token limit: with `tool_use` a client would run the tool without arguments.
 */
export function endingOf({ finishReason, arguments: argumentStates, refusal }: AnswerEnd): MessageEnd {
  checkFinish(finishReason);
  const hasCalls = argumentStates.size > 0;
  const ranOut = usualFinish(finishReason) === "length";
  const isCut = ranOut && (argumentStates.has("cut") || argumentStates.has("empty"));
  const reason = isCut ? "max_tokens" : stopReason(finishReason, hasCalls);
  if (hasCalls || (refusal === "" && reason !== "refusal")) return { stop_reason: reason, stop_details: null };
  const explanation = refusal === "" ? null : refusal;
  return { stop_reason: "refusal", stop_details: { type: "refusal", category: null, explanation } };
}

/** Returns the usage. Unknown usage is written as zeros, since the dialect has no form for it. */
export function messagesUsageOf(usage: Usage | undefined): object {
  return messagesUsage(usage ?? NO_USAGE);
}

const TIERS: ReadonlyMap<unknown, string> = new Map([
  ["auto", "standard"],
  ["default", "standard"],
  ["flex", "standard"],
  ["scale", "standard"],
  ["priority", "priority"],
  ["fast", "priority"],
]);

/** Returns the service tier, or `undefined` if there is none that the dialect knows. */
export function messagesTier(serviceTier: unknown): string | undefined {
  return TIERS.get(serviceTier);
}
