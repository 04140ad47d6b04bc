/**
 * Translates a whole chat completion to a messages answer, or to a stream of events if the client asked for a stream. Source:
 * dialects reference, 8.5.
 *
 * Arguments of calls keep the provider's spelling.
 */
import { Verbatim, writeJson } from "../../json/json-source.ts";
import { objectOf, tryParseJson, type Values } from "../../json/json-values.ts";
import { AnswerContent } from "../chat-answers/answer-content.ts";
import { type ArgumentsState, rawArguments } from "../chat-answers/arguments-scan.ts";
import type { CallPart } from "../chat-answers/arriving-calls.ts";
import {
  callsOf,
  continuesBlock,
  type Reasoning,
  readCompletion,
  reasoningOf,
  refusalOf,
} from "../chat-answers/chat-answer-parts.ts";
import { shownModel, shownTool } from "../shown-names.ts";
import { AnswerProblem, type AnswerStamp, type AnswerTerms } from "../types.ts";
import { endingOf, messagesTier, messagesUsageOf } from "./ending.ts";
import * as frames from "./event-frames.ts";
import { createCallIds, messageId } from "./ids-of-answer.ts";

export function chatToMessage(body: string, terms: AnswerTerms, stamp: AnswerStamp): string {
  const { id, model, serviceTier, blocks, ending, usage } = wholeAnswer(body, terms, stamp);
  return writeJson({
    id,
    type: "message",
    role: "assistant",
    model,
    content: blocks.map(contentOf),
    stop_reason: ending.stop_reason,
    stop_sequence: null,
    stop_details: ending.stop_details,
    usage: { ...usage, service_tier: serviceTier },
  });
}

export function chatAsEvents(body: string, terms: AnswerTerms, stamp: AnswerStamp): string {
  const { blocks, ending, usage, ...beginning } = wholeAnswer(body, terms, stamp);
  return (
    frames.messageStart(beginning, terms.inputEstimate()) +
    blocks.map(eventsOf).join("") +
    frames.messageDelta(ending, usage) +
    frames.MESSAGE_STOP
  );
}

type Block =
  | { readonly kind: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly kind: "text"; readonly text: string }
  /** Tool call. `input` is JSON text; empty if there are no arguments. */
  | { readonly kind: "tool_use"; readonly id: string; readonly name: string; readonly input: string };

interface WholeAnswer extends frames.MessageHead {
  readonly blocks: readonly Block[];
  readonly ending: frames.MessageEnd;
  readonly usage: object;
}

function wholeAnswer(body: string, terms: AnswerTerms, stamp: AnswerStamp): WholeAnswer {
  const { answer, choice, message, usage, writeArguments: written } = readCompletion(body);
  const finishReason = choice["finish_reason"];
  const refusal = refusalOf(message);
  const calls = callsOf(message, written);
  const ranOut = finishReason === "length";
  const inputs = calls.map((call) => inputOf(call, ranOut));
  return {
    id: messageId(stamp, answer["id"]),
    model: shownModel(terms, answer["model"]),
    serviceTier: messagesTier(answer["service_tier"]),
    blocks: [
      ...(terms.showsThinking ? thinkingBlocks(reasoningOf(message)) : []),
      ...textBlocks(contentText(message), refusal),
      ...toolUses(calls, inputs, terms, stamp),
    ],
    ending: endingOf({ finishReason, arguments: new Set(inputs.map(argumentsOf)), refusal }),
    usage: messagesUsageOf(usage),
  };
}

function thinkingBlocks(pieces: readonly Reasoning[]): readonly Block[] {
  const blocks: Reasoning[] = [];
  for (const piece of pieces) {
    const last = blocks.at(-1);
    if (last !== undefined && continuesBlock(last, piece)) {
      const { text, index } = last;
      blocks[blocks.length - 1] = {
        text: text + piece.text,
        signature: piece.signature,
        index: index ?? piece.index,
      };
    } else if (piece.text !== "" || last?.signature !== "") {
      blocks.push(piece);
    }
  }
  return blocks.map(({ text, signature }) => ({ kind: "thinking", thinking: text, signature }));
}

function contentText(message: Values): string {
  const content = new AnswerContent(() => false);
  return [...content.read(message), ...content.end()].map((part) => ("text" in part ? part.text : "")).join("");
}

function textBlocks(...texts: readonly string[]): readonly Block[] {
  return texts.filter((text) => text !== "").map((text) => ({ kind: "text", text }));
}

function toolUses(
  calls: readonly CallPart[],
  inputs: readonly (string | undefined)[],
  terms: AnswerTerms,
  stamp: AnswerStamp,
): readonly Block[] {
  const callId = createCallIds(stamp);
  return calls.map(({ id, name }, at) => {
    if (name === "") throw new AnswerProblem("a tool call has no name");
    return { kind: "tool_use", id: callId(id), name: shownTool(terms, name), input: inputs[at] ?? "" };
  });
}

/**
 * Returns the input of a call. Arguments that are not an object are kept as text, since the dialect has no other place for
 * them. Returns `undefined` if they were cut off because the model ran out of tokens.
 */
function inputOf({ arguments: text }: CallPart, ranOut: boolean): string | undefined {
  const json = text.trim();
  if (json === "" || objectOf(tryParseJson(json)) !== undefined) return json;
  return ranOut ? undefined : rawArguments(text);
}

function argumentsOf(input: string | undefined): ArgumentsState {
  if (input === undefined) return "cut";
  return input === "" ? "empty" : "whole";
}

function contentOf(block: Block): object {
  switch (block.kind) {
    case "thinking":
      return { type: "thinking", thinking: block.thinking, signature: block.signature };
    case "text":
      return { type: "text", text: block.text };
    case "tool_use":
      return { type: "tool_use", id: block.id, name: block.name, input: new Verbatim(block.input || "{}") };
  }
}

function eventsOf(block: Block, index: number): string {
  switch (block.kind) {
    case "thinking": {
      const { thinking, signature } = block;
      const thinkingText = thinking === "" ? "" : frames.thinkingDelta(index, thinking);
      const signed = signature === "" ? "" : frames.signatureDelta(index, signature);
      return frames.thinkingStart(index) + thinkingText + signed + frames.blockStop(index);
    }
    case "text":
      return frames.textStart(index) + frames.textDelta(index, block.text) + frames.blockStop(index);
    case "tool_use": {
      const input = block.input === "" ? "" : frames.inputDelta(index, block.input);
      return frames.toolUseStart(index, block.id, block.name) + input + frames.blockStop(index);
    }
  }
}
