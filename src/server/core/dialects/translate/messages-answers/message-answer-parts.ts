/**
 * Reads the parts of an answer of the messages dialect, in the same way for a whole answer and for an event. Source: dialects
 * reference, 3.2, 5.2.
 *
 * An answer that violates the grammar in a way that changes its content is an `AnswerProblem`, whose message quotes nothing.
 */
import { createVerbatimOf, type JsonSource, jsonText } from "../../json/json-source.ts";
import { objectOf, stringOf, tryParseJson, type Values } from "../../json/json-values.ts";
import { notJson } from "../chat-answers/chat-answer-parts.ts";
import { isEventText } from "../chat-answers/normalize-chat-answer.ts";
import { AnswerProblem } from "../types.ts";
import { foldEvents } from "./fold-events.ts";

export interface WholeMessage {
  readonly message: Values;
  readonly blocks: readonly Values[];
  /** Returns parts exactly as written; `undefined` if there is no call, since only a call's input keeps its spelling. */
  readonly exact: JsonSource["exact"] | undefined;
}

const UNCHANGED = (part: unknown): unknown => part;

export function readMessage(body: string): WholeMessage {
  const value = isEventText(body) ? foldEvents(body) : tryParseJson(body);
  if (value === undefined) throw new AnswerProblem(body.trim() === "" ? "the answer is empty" : notJson(body));
  const message = objectOf(value);
  // Servers in Go write null for an empty list.
  const content = message?.["content"] === null && message["type"] === "message" ? [] : message?.["content"];
  if (message === undefined || !Array.isArray(content)) throw new AnswerProblem("the answer is not a message");
  const blocks = content.map(readBlock);
  return { message, blocks, exact: blocks.some(isCall) ? exactOf(body, value) : undefined };
}

const isCall = (block: Values): boolean => block["type"] === "tool_use";

function exactOf(body: string, value: unknown): JsonSource["exact"] {
  try {
    return createVerbatimOf(body, value);
  } catch {
    throw new AnswerProblem("the answer is nested too deep");
  }
}

/** Returns a content block; its type may be unknown. */
export function readBlock(value: unknown): Values {
  const block = objectOf(value);
  if (block === undefined || typeof block["type"] !== "string") throw new AnswerProblem("a content block has no type");
  return block;
}

/** Returns a text; empty if it is absent, since many servers leave out empty texts. Throws `AnswerProblem`. */
export function readText(object: Values, name: string): string {
  const value = object[name];
  return value === undefined || value === null ? "" : readRequiredText(object, name);
}

/** Returns a text that must be present. Throws `AnswerProblem`. */
export function readRequiredText(object: Values, name: string): string {
  const text = stringOf(object[name]);
  if (text === undefined) throw new AnswerProblem(`"${name}" is not text`);
  return text;
}

/** Returns the name of the called tool as the provider knows it. */
export function readToolName(block: Values): string {
  const name = stringOf(block["name"]);
  if (name === undefined || name === "") throw new AnswerProblem("a tool call has no name");
  return name;
}

/** Returns whether a block already has arguments when it begins; these must be read exactly. */
export function hasInput(block: Values): boolean {
  const input = block["type"] === "tool_use" ? objectOf(block["input"]) : undefined;
  return input !== undefined && Object.keys(input).length > 0;
}

/**
 * Returns the input of a `tool_use` block as the text of `arguments`. `exact` belongs to the `JsonSource` that contains the
 * block.
 */
export function readArguments(block: Values, exact: (part: unknown) => unknown = UNCHANGED): string {
  const input = block["input"];
  if (input === undefined || input === null) return "{}";
  // Some bridges send the input as JSON text, and a model may write any text.
  if (typeof input === "string") return input.trim() === "" ? "{}" : input;
  if (objectOf(input) === undefined) throw new AnswerProblem("the input of a tool call is not an object");
  return jsonText(exact(input));
}

/**
 * Returns the explanation of a refusal, or `undefined` if it is not a refusal, or has no explanation. `object` is a message, or the
 * `delta` of a `message_delta`.
 */
export function readRefusal(object: Values): string | undefined {
  if (object["stop_reason"] !== "refusal") return undefined;
  return stringOf(objectOf(object["stop_details"])?.["explanation"]) || undefined;
}
