/** Requests shared by features, and the simulated provider's answers. */
import assert from "node:assert/strict";
import { answerText } from "../../../../../src/simulator/answer-text.ts";
import type { RequestByClient } from "../cell.ts";
import type { ClientName, SdkAnswer, Turns } from "../sdk-answer.ts";
import { user } from "../sdk-answer.ts";

export const QUESTION = "What is the capital of France?";

export const requestOf = (turns: Turns): RequestByClient => ({
  openai: { messages: [...turns.openai] },
  anthropic: { messages: [...turns.anthropic] },
});

export const QUESTION_REQUEST: RequestByClient = requestOf(user(QUESTION));

/** Finish reasons in the terms of each client. */
const FINISH = {
  end: { openai: "stop", anthropic: "end_turn" },
  length: { openai: "length", anthropic: "max_tokens" },
  call: { openai: "tool_calls", anthropic: "tool_use" },
  refusal: { openai: "content_filter", anthropic: "refusal" },
} as const satisfies Readonly<Record<string, Readonly<Record<ClientName, string>>>>;

export function ends(
  { finish }: SdkAnswer,
  { client }: { readonly client: ClientName },
  reason: keyof typeof FINISH,
): void {
  assert.equal(finish, FINISH[reason][client]);
}

/** Asserts that the text answers `question` and nothing else. */
export function answers(answer: SdkAnswer, model: string, question: string, toolAnswer?: string): void {
  assert.equal(answer.text, answerText(model, question, toolAnswer));
  assert.deepEqual(answer.calls, []);
}
