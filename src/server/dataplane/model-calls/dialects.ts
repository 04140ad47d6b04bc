/**
 * Formats a question to a model in each dialect, and parses the answer. Source: judge-formats reference, 1; dialects reference.
 */
import { GatewayError } from "../../../base/index.ts";
import type { Dialect } from "../../core/dialects/index.ts";
import type { ModelAnswer, ModelQuestion } from "../../snapshot/index.ts";

export const PATHS: Readonly<Record<Dialect, string>> = { compat: "/v1/chat/completions", messages: "/v1/messages" };

/** Returns the body of the request. `model`: model name sent to the provider. */
export function bodyFor(dialect: Dialect, question: ModelQuestion, model: string): string {
  const { system, turns, maxTokens, template } = question;
  const messages = turns.map(({ role, text }) => ({
    role,
    content: template?.parts === true ? [{ type: "text", text }] : text,
  }));
  const common = { model, temperature: 0, max_tokens: maxTokens };
  if (dialect === "messages") return JSON.stringify({ ...common, ...(system !== undefined && { system }), messages });
  return JSON.stringify({
    ...common,
    messages: system === undefined ? messages : [{ role: "system", content: system }, ...messages],
    ...(template !== undefined && { chat_template_kwargs: template.variables }),
  });
}

type Members = Readonly<Record<string, unknown>>;

const membersOf = (value: unknown): Members =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {};

/** Parses the answer. Throws `upstream_incomplete` if it is not a model's answer. */
export function parseModelAnswer(dialect: Dialect, body: Buffer): ModelAnswer {
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    throw noAnswer();
  }
  const answer = membersOf(value);
  return dialect === "compat" ? compatAnswer(answer) : messagesAnswer(answer);
}

function compatAnswer({ choices, usage }: Members): ModelAnswer {
  if (!Array.isArray(choices) || choices.length !== 1) throw noAnswer();
  const { message, finish_reason: reason } = membersOf(choices[0]);
  const { content, refusal, tool_calls: calls } = membersOf(message);
  const isRefused = typeof refusal === "string" && refusal !== "";
  const hasCalls = Array.isArray(calls) && calls.length > 0;
  const text = content === null && isRefused ? "" : textOf(content);
  if (text === undefined) throw noAnswer();
  const isFinished = reason === "stop" && !isRefused && !hasCalls;
  return { text, isFinished, promptTokens: countOf(membersOf(usage)["prompt_tokens"]) };
}

function messagesAnswer({ type, content, stop_reason: reason, usage }: Members): ModelAnswer {
  if (type !== "message" || !Array.isArray(content)) throw noAnswer();
  const blocks = content
    .map(membersOf)
    .filter((block) => block["type"] !== "thinking" && block["type"] !== "redacted_thinking");
  const text = textOf(blocks);
  if (text === undefined) throw noAnswer();
  const isFinished = reason === "end_turn" || reason === "stop_sequence";
  return { text, isFinished, promptTokens: countOf(membersOf(usage)["input_tokens"]) };
}

/** Returns the text of a string or of an array of text parts; otherwise `undefined`. */
function textOf(content: unknown): string | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((part: unknown) => {
    const { type, text } = membersOf(part);
    return type === "text" && typeof text === "string" ? text : undefined;
  });
  return texts.includes(undefined) ? undefined : texts.join("");
}

const countOf = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;

const noAnswer = (): GatewayError =>
  new GatewayError("upstream_incomplete", "its provider sent an answer that is not a model's");
