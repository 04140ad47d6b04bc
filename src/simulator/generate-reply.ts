/**
 * Creates the reply to a `GenerationRequest`: thinking, text, and calls of the offered tools, with their counts. It is a pure
 * function except for the prefix cache, which tells whether a marked prefix was seen before.
 *
 * A tool is called if one is offered and the last turn is the user's. Text follows its result, or the number of rounds
 * of the variant, so that the loop of any agent ends. A token limit cuts off thinking, text and calls, in this order.
 */

import {
  answerText,
  applyTextFault,
  countJsonTokens,
  countWords,
  takeJson,
  takeWords,
  thinkingText,
} from "./answer-text.ts";
import type { Fault } from "./fault-table.ts";
import type { GenerationRequest } from "./generation-request.ts";
import type { Memory } from "./provider-memory.ts";
import { type ResponseVariant, variantOf } from "./response-variants.ts";
import type { Tokens } from "./route-types.ts";
import { exampleOf } from "./schema-example.ts";

export interface ToolCall {
  readonly name: string;
  /** Input as JSON text; incomplete for a call that a limit cut off. */
  readonly input: string;
}

export interface Reply {
  /** Thinking; empty if there is none. */
  readonly thinking: string;
  /** Text; empty if only tools are called. */
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly finish: "end" | "length" | "stop" | "call" | "refusal" | "filtered" | "pause" | "context";
  /** Stop sequence that was reached; null if none was. */
  readonly stopSequence: string | null;
  readonly usage: Usage;
  readonly variant: ResponseVariant;
}

export interface Usage {
  /** Input tokens, including those read from and written to the cache. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Output tokens, including thinking. */
  readonly output: number;
  readonly thinking: number;
}

/** Returns the tokens as they are counted and billed. */
export const tokensOf = ({ input, output, cacheRead: cached, cacheWrite: written }: Usage): Tokens => ({
  ...{ input, output, cached, written },
});

export const REFUSAL_TEXT = "The simulated provider was asked by the model name to refuse this.";

const TEXT_BEFORE_CALLS = "The simulated provider calls a tool now.";

export function replyTo(generation: GenerationRequest, fault: Fault, memory: Memory): Reply {
  const variant = variantOf(generation.model);
  const { tokens: input, cachePrefix } = generation.prompt;
  const isCached = cachePrefix !== undefined && memory.isCached(generation.model, cachePrefix.digest);
  const cacheRead = isCached ? cachePrefix.tokens : 0;
  const cacheWrite = cachePrefix !== undefined && !isCached ? cachePrefix.tokens : 0;
  const limit = generation.maxTokens ?? Number.POSITIVE_INFINITY;
  const wholeThinking = generation.isThinking && fault.kind !== "no-text" ? thinkingText(generation.question) : "";
  const thinking = takeWords(wholeThinking, limit);
  const thinkingCount = countWords(thinking);
  const { text, calls, tokens, finish, stopSequence } = outputWithin(limit - thinkingCount, generation, fault, variant);
  const isCut = thinking.length < wholeThinking.length;
  const usage = { input, cacheRead, cacheWrite, output: thinkingCount + tokens, thinking: thinkingCount };
  return { thinking, text, calls, finish: isCut ? "length" : finish, stopSequence, usage, variant };
}

interface Output {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** Number of output tokens. */
  readonly tokens: number;
  readonly finish: Reply["finish"];
  readonly stopSequence: string | null;
}

/** Returns the output within a limit. `room`: maximum number of output tokens; infinite without a limit. */
function outputWithin(
  maxTokens: number,
  generation: GenerationRequest,
  fault: Fault,
  variant: ResponseVariant,
): Output {
  if (maxTokens <= 0) return { text: "", calls: [], tokens: 0, finish: "length", stopSequence: null };
  const isCallsTurn = generation.toolAnswer === undefined || generation.toolRounds < variant.rounds;
  if (generation.tools.length > 0 && isCallsTurn && fault.kind !== "no-text" && variant.calls > 0) {
    return callWithin(maxTokens, generation, variant);
  }
  if (variant.ending === "refusal") return { text: "", calls: [], tokens: 0, finish: "refusal", stopSequence: null };
  const whole = applyTextFault(fault, () => defaultText(generation, variant));
  const { text, stopSequence } = cutAtStop(whole, generation.stops);
  const words = countWords(text);
  if (words > maxTokens) {
    return { text: takeWords(text, maxTokens), calls: [], tokens: maxTokens, finish: "length", stopSequence: null };
  }
  if (variant.ending === "filtered") {
    const tokens = Math.ceil(words / 2);
    return { text: takeWords(text, tokens), calls: [], tokens, finish: "filtered", stopSequence: null };
  }
  const finish = stopSequence !== null ? "stop" : variant.ending === "usual" ? "end" : variant.ending;
  return { text, calls: [], tokens: words, finish, stopSequence };
}

function callWithin(maxTokens: number, { tools, allowsParallel }: GenerationRequest, variant: ResponseVariant): Output {
  const text = variant.isTextFirst ? takeWords(TEXT_BEFORE_CALLS, maxTokens) : "";
  let tokens = countWords(text);
  const calls: ToolCall[] = [];
  const count = allowsParallel ? variant.calls : 1;
  for (let index = 0; index < count && tokens < maxTokens; index += 1) {
    const tool = tools[index % tools.length];
    if (tool === undefined) break;
    const whole = JSON.stringify(exampleOf(tool.parameters));
    const input = takeJson(whole, maxTokens - tokens);
    calls.push({ name: tool.name, input });
    tokens += countJsonTokens(input);
    if (input.length < whole.length) return { text, calls, tokens, finish: "length", stopSequence: null };
  }
  const finish = calls.length < count ? "length" : "call";
  return { text, calls, tokens, finish, stopSequence: null };
}

function defaultText(generation: GenerationRequest, variant: ResponseVariant): string {
  if (variant.echoesSummary) return JSON.stringify(generation.summarize?.() ?? {});
  if (generation.answerSchema !== undefined) return JSON.stringify(exampleOf(generation.answerSchema));
  return answerText(generation.model, generation.question, generation.toolAnswer);
}

function cutAtStop(text: string, stops: readonly string[]): { text: string; stopSequence: string | null } {
  let end = text.length;
  let reached: string | null = null;
  for (const stop of stops) {
    const at = stop === "" ? -1 : text.indexOf(stop);
    if (at >= 0 && at < end) {
      end = at;
      reached = stop;
    }
  }
  return { text: text.slice(0, end), stopSequence: reached };
}
