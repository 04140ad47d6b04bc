/**
 * Reads an answer of the messages dialect for a compat client, in the same way for a whole answer and a stream. Source:
 * dialects reference, 8.5.
 */
import { objectOf, stringOf, type Values } from "../../json/json-values.ts";
import { finishReason } from "../finish-reasons.ts";
import { readRequiredText, readToolName } from "../messages-answers/message-answer-parts.ts";
import { shownModel, shownTool } from "../shown-names.ts";
import type { AnswerStamp, AnswerTerms } from "../types.ts";

/** Members that a whole answer and each chunk begin with. */
interface AnswerHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly service_tier: string | undefined;
}

interface ToolCall {
  readonly id: string;
  readonly name: string;
}

/** Compat service tier by tier of the messages dialect; `batch` has no equivalent. */
const SERVICE_TIERS: ReadonlyMap<unknown, string> = new Map([
  ["standard", "default"],
  ["priority", "priority"],
]);

export function readHead(message: Values, terms: AnswerTerms, stamp: AnswerStamp): AnswerHead {
  return {
    id: stringOf(message["id"]) || `chatcmpl-${stamp.seed}`,
    created: stamp.created,
    model: shownModel(terms, message["model"]),
    service_tier: SERVICE_TIERS.get(objectOf(message["usage"])?.["service_tier"]),
  };
}

/** Returns a call. `position` is its index among the calls of the answer. */
export function readCall(block: Values, position: number, terms: AnswerTerms, stamp: AnswerStamp): ToolCall {
  const name = shownTool(terms, readToolName(block));
  return { id: stringOf(block["id"]) || `call_${stamp.seed}_${position}`, name };
}

/**
 * Returns the finish reason. An answer with calls ends with them, unless it was cut off or refused; an answer without calls
 * never does.
 */
export function readFinish(stopReason: unknown, hasCalls: boolean, { callsFunctions }: AnswerTerms): string {
  const named = finishReason(stopReason);
  if (named !== "stop" && named !== "tool_calls") return named;
  if (!hasCalls) return "stop";
  return callsFunctions ? "function_call" : "tool_calls";
}

/**
 * Returns thinking in the form in which a client can send it back: an entry of `reasoning_details` keeps text and signature
 * together. Returns `undefined` for unsigned thinking, which no provider accepts.
 */
export function signedDetail(text: string, signature: string | undefined, index: number): object | undefined {
  return signature ? { type: "reasoning.text", text, signature, index } : undefined;
}

export function encryptedDetail(block: Values, index: number): object {
  return { type: "reasoning.encrypted", data: readRequiredText(block, "data"), index };
}
