/**
 * An answer as a program reads it from its SDK, in terms common to both SDKs, and the turns of a conversation in both.
 */
import type { MessageParam } from "@anthropic-ai/sdk/resources/messages";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { Usage } from "../../../../src/server/core/dialects/usage/usage.ts";

export const CLIENTS = ["openai", "anthropic"] as const;
export type ClientName = (typeof CLIENTS)[number];

/** `raw`: the events of the stream one by one; `helper`: the SDK's own assembly of them, which is the stricter reader. */
export const FORMS = ["unary", "raw", "helper"] as const;
export type Form = (typeof FORMS)[number];

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export interface SdkAnswer {
  readonly id: string;
  readonly model: string;
  readonly text: string;
  readonly refusal: string | undefined;
  readonly thinking: string;
  readonly signatures: readonly string[];
  readonly calls: readonly ToolCall[];
  /** `finish_reason` or `stop_reason`. */
  readonly finish: string;
  /** The matched stop sequence, if the dialect reports it. */
  readonly stopSequence: string | null;
  /** Number of text pieces; 1 for a whole answer. */
  readonly pieces: number;
  readonly usage: Usage | undefined;
  /** The answer in the form that the program sends in its next request. */
  readonly turn: Turns;
}

/** Each client has its own list; the other's stays empty if a turn came from an answer. */
export interface Turns {
  readonly openai: readonly ChatCompletionMessageParam[];
  readonly anthropic: readonly MessageParam[];
}

export const NO_TURNS: Turns = { openai: [], anthropic: [] };

export function join(...parts: readonly Turns[]): Turns {
  return {
    openai: parts.flatMap(({ openai }) => openai),
    anthropic: parts.flatMap(({ anthropic }) => anthropic),
  };
}

export function user(text: string): Turns {
  return { openai: [{ role: "user", content: text }], anthropic: [{ role: "user", content: text }] };
}

/** Returns the results of the client's tools for the calls of an answer, in order. */
export function results({ calls }: SdkAnswer, texts: readonly string[]): Turns {
  const found = calls.map(({ id }, at) => ({ id, text: texts[at] ?? "" }));
  return {
    openai: found.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text })),
    anthropic: [
      { role: "user", content: found.map(({ id, text }) => ({ type: "tool_result", tool_use_id: id, content: text })) },
    ],
  };
}
