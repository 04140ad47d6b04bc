/**
 * Reads the parts of a compat message, in the same way for a whole answer and for the delta of a chunk.
 *
 * Source: dialects reference, 3.1 to 3.3 and 8.5. Providers report reasoning in different ways: a string under one of two
 * names, a list of details, or both with the same text. An unreadable part is an `AnswerProblem`, since leaving it out would
 * change the answer. Only unreadable reasoning is left out.
 */

import { isWebPage, WEB_PAGE } from "../../answer-error.ts";
import { listOf, numberOf, objectOf, stringOf, tryParseJson, type Values } from "../../json/json-values.ts";
import type { Usage } from "../../usage/usage.ts";
import { isFailedFinish } from "../finish-reasons.ts";
import { AnswerProblem } from "../types.ts";
import { sourceAnnotations } from "./answer-sources.ts";
import type { CallPart } from "./arriving-calls.ts";
import {
  argumentsWriter,
  callIdOf,
  callIndexOf,
  foldChunks,
  isEventText,
  mergeChoices,
  UNCHANGED,
  usageAnywhere,
  type WriteArguments,
} from "./normalize-chat-answer.ts";

/** Part of the reasoning. */
export interface Reasoning {
  /** Text of the reasoning. It may be empty if only the signature is sent. */
  readonly text: string;
  /** Signature of the whole block of reasoning; empty if there is none. */
  readonly signature: string;
  /** Index of the part. Parts with different indexes are signed separately. */
  readonly index: number | undefined;
}

/** Index of the legacy `function_call`, which has none and occurs at most once. */
const FUNCTION_CALL_INDEX = -1;

const NONE: readonly never[] = [];

export function refusalOf({ refusal }: Values): string {
  return optionalText(refusal, "refusal");
}

/**
 * Returns the reasoning. If there are details, they are used instead of the plain string, which repeats them. Details that
 * only their provider can read (`reasoning.encrypted`) are left out: a messages history would not show which provider they
 * belong to, and every other one refuses them.
 */
export function reasoningOf(message: Values): readonly Reasoning[] {
  const { reasoning_details: details, content } = message;
  const plain = plainReasoning(message) + (Array.isArray(content) ? thinkingParts(content) : "");
  const detailed = Array.isArray(details) ? listOf(details).flatMap(reasoningDetail) : NONE;
  if (plain === "" || detailed.some(({ text }) => text !== "")) return detailed;
  return [{ text: plain, signature: "", index: undefined }, ...detailed];
}

/**
 * Returns the calls in the order of the answer, or the call of the legacy form. `written` serializes arguments that are an
 * object.
 */
export function callsOf(message: Values, written: WriteArguments = UNCHANGED): readonly CallPart[] {
  const { tool_calls: calls, function_call: old } = message;
  const hasCalls = calls !== undefined && calls !== null;
  if (!hasCalls && (old === undefined || old === null)) return NONE;
  if (hasCalls && !Array.isArray(calls)) throw new AnswerProblem("tool_calls is not an array");
  const parts = listOf(calls).map((call) => callPart(call, written));
  // Some providers send the same call in both forms.
  if (parts.length > 0 || old === undefined || old === null) return parts;
  return [{ index: FUNCTION_CALL_INDEX, id: "", ...functionPart(old, written) }];
}

/** Returns a text, empty if it is absent. Null counts as absent, since providers write it for absent members. */
function optionalText(value: unknown, name: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  throw new AnswerProblem(`${name} is not a string`);
}

/** Returns the plain reasoning text, which may have either of two names. */
function plainReasoning({ reasoning_content: content, reasoning }: Values): string {
  return stringOf(content) || stringOf(reasoning) || "";
}

function reasoningDetail(value: unknown): readonly Reasoning[] {
  const detail = objectOf(value);
  const text = stringOf(detail?.["text"]) ?? stringOf(detail?.["summary"]) ?? "";
  const signature = stringOf(detail?.["signature"]) ?? "";
  return text === "" && signature === "" ? NONE : [{ text, signature, index: numberOf(detail?.["index"]) }];
}

/** Returns the parts of content that is not a string. */
export function partsOf(content: unknown): readonly Values[] {
  if (!Array.isArray(content)) throw new AnswerProblem("content is neither a string nor an array");
  return listOf(content).map((part) => {
    const object = objectOf(part);
    if (object === undefined) throw new AnswerProblem("a part of the content is not an object");
    return object;
  });
}

const TEXTS: ReadonlySet<unknown> = new Set(["text", "output_text", "summary_text"]);
/** Types of parts that only name the source of the text before them. Sources have no form in the other dialects. */
const SOURCES: ReadonlySet<unknown> = new Set(["reference", "tool_reference"]);

/** Returns the text of a part; empty for a source. Throws `AnswerProblem` for a part of an unknown type. */
export function textOfPart(part: Values): string {
  if (SOURCES.has(part["type"])) return "";
  const text = TEXTS.has(part["type"]) ? stringOf(part["text"]) : undefined;
  if (text === undefined) throw new AnswerProblem("a part of the content is of an unknown type");
  return text;
}

/** Types of parts that are thinking. */
const THOUGHTS: ReadonlySet<unknown> = new Set(["thinking", "reasoning"]);

export const isThought = (part: Values): boolean => THOUGHTS.has(part["type"]);

/**
 * Returns the thinking of providers that answer in parts: `{type: "thinking", thinking: [{type: "text", text}]}` or
 * `{type: "reasoning", summary: [{type: "summary_text", text}]}`.
 */
function thinkingParts(content: unknown): string {
  return partsOf(content)
    .filter(isThought)
    .map(({ thinking, summary, text }) => thinking ?? summary ?? text)
    .map((thought) => stringOf(thought) ?? partsOf(thought).map(textOfPart).join(""))
    .join("");
}

function callPart(value: unknown, written: WriteArguments): CallPart {
  const call = objectOf(value);
  if (call === undefined) throw new AnswerProblem("a tool call is not an object");
  const { index = null, id, function: called = null, custom = null } = call;
  const known = callIndexOf(index);
  if (index !== null && !Number.isSafeInteger(known))
    throw new AnswerProblem("the index of a tool call is not a number");
  // A fragment may have no function, or none yet. A call whose name never comes is a problem at its end.
  return {
    index: known,
    id: optionalText(callIdOf(id), "the id of a tool call"),
    ...functionPart(custom === null ? (called ?? {}) : called, written),
  };
}

function functionPart(value: unknown, written: WriteArguments): Pick<CallPart, "name" | "arguments"> {
  const called = objectOf(value);
  if (called === undefined) throw new AnswerProblem("a tool call names no function");
  return {
    name: optionalText(called["name"], "the name of a function"),
    arguments: optionalText(written(called["arguments"]), "the arguments of a function"),
  };
}

/**
 * Returns whether the part continues the block. A signature ends a block, and parts with different indexes are signed
 * separately.
 */
export function continuesBlock(block: Omit<Reasoning, "text">, { index }: Reasoning): boolean {
  return block.signature === "" && (block.index === undefined || index === undefined || block.index === index);
}

interface Completion {
  readonly answer: Values;
  /** Choice that results from merging all choices. */
  readonly choice: Values;
  readonly message: Values;
  readonly usage: Usage | undefined;
  /** Serializes arguments that are an object. */
  readonly writeArguments: WriteArguments;
}

/** Reads a whole answer, even if the provider sent it as a stream. Throws `AnswerProblem`. */
export function readCompletion(body: string): Completion {
  const value = isEventText(body) ? foldChunks(body) : tryParseJson(body);
  if (value === undefined) throw new AnswerProblem(body.trim() === "" ? "the answer is empty" : notJson(body));
  const answer = objectOf(value);
  if (answer === undefined) throw new AnswerProblem("the answer is not a JSON object");
  const choice = mergeChoices(listOf(answer["choices"]));
  const message = objectOf(choice?.["message"]);
  if (choice === undefined || message === undefined) throw new AnswerProblem("the answer has no message");
  const usage = usageAnywhere(answer);
  return { answer, choice, message: annotated(message, answer), usage, writeArguments: argumentsWriter(body, value) };
}

/** Returns the message with annotations of the sources that its answer lists, unless it has its own. */
function annotated(message: Values, answer: Values): Values {
  const sources = listOf(message["annotations"]).length > 0 ? NONE : sourceAnnotations(answer);
  return sources.length === 0 ? message : { ...message, annotations: sources };
}

/** Returns an error message that says what kind of text arrived, without quoting it. */
export function notJson(body: string): string {
  return isWebPage(body.trimStart()) ? WEB_PAGE : "the answer is not JSON";
}

/**
 * Throws `AnswerProblem` for a finish reason with which providers end an answer that they could not finish. Every other
 * unknown reason counts as a normal end.
 */
export function checkFinish(finishReason: unknown): void {
  if (isFailedFinish(finishReason)) throw new AnswerProblem("the provider's answer ended with an error");
}
