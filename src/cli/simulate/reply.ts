/**
 * What is said to an `Ask`: text, or one call of the offered tool, with its counts. A pure function but for the prefix
 * cache, which is asked whether it has met a marked prefix before.
 *
 * A tool is called when one is offered and the last turn is the user's; after its result follows text, so that the loop
 * of any agent ends.
 */

import type { Ask } from "./ask.ts";
import type { Fault } from "./faults.ts";
import type { Memory } from "./memory.ts";
import { exampleOf } from "./schema-example.ts";
import { answerText, countJsonTokens, countWords, takeWords, textUnderFault, thinkingText } from "./text.ts";

export interface Reply {
  /** Empty: none. */
  readonly thinking: string;
  /** Empty when a tool is called. */
  readonly text: string;
  readonly call: { readonly name: string; readonly input: string } | undefined;
  readonly finish: "end" | "length" | "stop" | "call";
  /** The stop sequence met. */
  readonly stopSequence: string | null;
  readonly usage: Usage;
}

export interface Usage {
  /** With what was read from and written to the cache. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** With thinking. */
  readonly output: number;
  readonly thinking: number;
}

export function replyTo(ask: Ask, fault: Fault, memory: Memory): Reply {
  const { tokens: input, marked } = ask.prompt;
  const isCached = marked !== undefined && memory.isCached(ask.model, marked.digest);
  const cacheRead = isCached ? marked.tokens : 0;
  const cacheWrite = marked !== undefined && !isCached ? marked.tokens : 0;
  const thinking = ask.isThinking && fault.kind !== "no-text" ? thinkingText(ask.question) : "";
  const thinkingTokens = countWords(thinking);
  const usage = (said: number): Usage => ({
    input,
    cacheRead,
    cacheWrite,
    output: thinkingTokens + said,
    thinking: thinkingTokens,
  });

  if (ask.tool !== undefined && ask.toolAnswer === undefined && fault.kind !== "no-text") {
    const call = { name: ask.tool.name, input: JSON.stringify(exampleOf(ask.tool.parameters)) };
    const tokens = countJsonTokens(call.input);
    return { thinking, text: "", call, finish: "call", stopSequence: null, usage: usage(tokens) };
  }

  const whole = textUnderFault(fault, () => usualText(ask));
  const { text: stopped, stopSequence } = cutAtStop(whole, ask.stops);
  const words = countWords(stopped);
  const room = ask.maxTokens === undefined ? words : Math.max(0, ask.maxTokens - thinkingTokens);
  if (words > room || ask.maxTokens === 0) {
    const text = takeWords(stopped, room);
    return { thinking, text, call: undefined, finish: "length", stopSequence: null, usage: usage(room) };
  }
  const finish = stopSequence === null ? "end" : "stop";
  return { thinking, text: stopped, call: undefined, finish, stopSequence, usage: usage(words) };
}

function usualText(ask: Ask): string {
  if (ask.answerSchema !== undefined) return JSON.stringify(exampleOf(ask.answerSchema));
  return answerText(ask.model, ask.question, ask.toolAnswer);
}

function cutAtStop(text: string, stops: readonly string[]): { text: string; stopSequence: string | null } {
  let end = text.length;
  let met: string | null = null;
  for (const stop of stops) {
    const at = stop === "" ? -1 : text.indexOf(stop);
    if (at >= 0 && at < end) {
      end = at;
      met = stop;
    }
  }
  return { text: text.slice(0, end), stopSequence: met };
}
