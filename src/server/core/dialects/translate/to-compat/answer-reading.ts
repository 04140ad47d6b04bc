/**
 * What an answer of the messages dialect says, read for a compat client: the same for a whole answer and for a stream.
 * Source: dialects reference, 3.2, 5.2, 8.5.
 *
 * An answer that breaks its grammar where that changes what is told is an `AnswerProblem`, whose message quotes nothing.
 */
import { jsonText } from "../../json-source.ts";
import { objectOf, stringOf, type Values } from "../../values.ts";
import { finishReason } from "../reasons.ts";
import { shownModel, shownTool } from "../shown-names.ts";
import { AnswerProblem, type AnswerStamp, type AnswerTerms } from "../types.ts";

/** Of a whole answer and of each chunk. */
export interface AnswerHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly service_tier: string | undefined;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
}

/** `batch` has no equivalent. */
const SERVICE_TIERS: ReadonlyMap<unknown, string> = new Map([
  ["standard", "default"],
  ["priority", "priority"],
]);

const UNCHANGED = (part: unknown): unknown => part;

export function readHead(message: Values, terms: AnswerTerms, stamp: AnswerStamp): AnswerHead {
  return {
    id: stringOf(message["id"]) || `chatcmpl-${stamp.seed}`,
    created: stamp.created,
    model: shownModel(terms, message["model"]),
    service_tier: SERVICE_TIERS.get(objectOf(message["usage"])?.["service_tier"]),
  };
}

/** A block of content; its type need not be known. */
export function readBlock(value: unknown): Values {
  const block = objectOf(value);
  if (block === undefined || typeof block["type"] !== "string") throw new AnswerProblem("a content block has no type");
  return block;
}

/** Text that the grammar demands. */
export function readText(of: Values, name: string): string {
  const text = stringOf(of[name]);
  if (text === undefined) throw new AnswerProblem(`"${name}" is no text`);
  return text;
}

/** `position`: of the call among the calls of the answer, from 0. */
export function readCall(block: Values, position: number, terms: AnswerTerms, stamp: AnswerStamp): ToolCall {
  const name = stringOf(block["name"]);
  if (name === undefined || name === "") throw new AnswerProblem("a tool call has no name");
  return { id: stringOf(block["id"]) || `call_${stamp.seed}_${position}`, name: shownTool(terms, name) };
}

/** The input of a `tool_use` block as the text of `arguments`; `exact`: of the `JsonSource` that the block is a part of. */
export function readArguments(block: Values, exact: (part: unknown) => unknown = UNCHANGED): string {
  const input = block["input"];
  if (input === undefined || input === null) return "{}";
  if (objectOf(input) === undefined) throw new AnswerProblem("the input of a tool call is no object");
  return jsonText(exact(input));
}

/** Calls make the reason, whatever was said, unless the answer was cut off or refused; without any there is none to answer. */
export function readFinish(stopReason: unknown, hasCalls: boolean, { callsFunctions }: AnswerTerms): string {
  const named = finishReason(stopReason);
  if (named !== "stop" && named !== "tool_calls") return named;
  if (!hasCalls) return "stop";
  return callsFunctions ? "function_call" : "tool_calls";
}

/** Undefined: it is no refusal, or one without a word. `of`: a message, or the `delta` of a `message_delta`. */
export function readRefusal(of: Values): string | undefined {
  if (of["stop_reason"] !== "refusal") return undefined;
  return stringOf(objectOf(of["stop_details"])?.["explanation"]) || undefined;
}

/**
 * Thinking that a provider takes back: what a client sends again of `reasoning_details` keeps text and signature together.
 * Undefined: it is not signed, and no provider takes it.
 */
export function signedDetail(text: string, signature: string | undefined, index: number): object | undefined {
  return signature ? { type: "reasoning.text", text, signature, index } : undefined;
}

export function encryptedDetail(block: Values, index: number): object {
  return { type: "reasoning.encrypted", data: readText(block, "data"), index };
}
