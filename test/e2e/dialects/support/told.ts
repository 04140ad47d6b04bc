/** An answer as a program reads it from its SDK, in words that both SDKs share, and the turns of a conversation in both. */
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

export interface Told {
  readonly id: string;
  readonly model: string;
  readonly text: string;
  readonly refusal: string | undefined;
  readonly thinking: string;
  readonly signatures: readonly string[];
  readonly calls: readonly ToolCall[];
  /** `finish_reason` or `stop_reason`. */
  readonly finish: string;
  /** The stop sequence met, where the dialect tells it. */
  readonly stopSequence: string | null;
  /** Of text; 1 when the answer came whole. */
  readonly pieces: number;
  readonly usage: Usage | undefined;
  /** The answer as the program puts it into its next request. */
  readonly turn: Turns;
}

/** Each client has its own list; the other's stays empty where a turn came from an answer. */
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

/** What the client's tools said to the calls of an answer, in their order. */
export function results({ calls }: Told, texts: readonly string[]): Turns {
  const said = calls.map(({ id }, at) => ({ id, text: texts[at] ?? "" }));
  return {
    openai: said.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text })),
    anthropic: [
      { role: "user", content: said.map(({ id, text }) => ({ type: "tool_result", tool_use_id: id, content: text })) },
    ],
  };
}
