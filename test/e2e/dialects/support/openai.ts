/** The official client of the compat dialect, called in each form. */
import assert from "node:assert/strict";
import type OpenAI from "openai";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessage,
} from "openai/resources/chat/completions";
import { normalizeUsage } from "../../../../src/server/core/dialects/usage/usage-normalize.ts";
import { type Form, NO_TURNS, type SdkAnswer, type ToolCall } from "./sdk-answer.ts";

export type ChatParams = Omit<ChatCompletionCreateParamsNonStreaming, "model" | "stream">;

/** Fields beyond the SDK's types, which it passes through. */
interface Reasoned {
  readonly reasoning_content?: string | null;
  readonly reasoning_details?: readonly ReasoningDetail[] | null;
}

interface ReasoningDetail {
  readonly type: string;
  readonly text?: string;
  readonly signature?: string;
  readonly data?: string;
  readonly index?: number;
}

interface Assembled {
  readonly id: string;
  readonly model: string;
  readonly message: ChatCompletionMessage & Reasoned;
  readonly finish: string | null | undefined;
  readonly pieces: number;
  readonly usage: unknown;
}

interface ChatCall {
  readonly form: Form;
  readonly model: string;
  readonly params: ChatParams;
  /** Requests usage in the stream; a whole answer has it in any case. */
  readonly wantsUsage?: boolean;
}

export async function tellByOpenai(client: OpenAI, call: ChatCall): Promise<SdkAnswer> {
  const { id, model, message, finish, pieces, usage } = await assembled(client, call);
  const calls = (message.tool_calls ?? []).map((made): ToolCall => {
    assert.equal(made.type, "function");
    assert.ok(made.type === "function");
    return { id: made.id, name: made.function.name, input: inputOf(made.function.arguments) };
  });
  return {
    id,
    model,
    text: message.content ?? "",
    refusal: message.refusal ?? undefined,
    thinking: message.reasoning_content ?? "",
    signatures: (message.reasoning_details ?? []).flatMap(({ signature }) => (signature ? [signature] : [])),
    calls,
    finish: String(finish),
    stopSequence: null,
    pieces,
    usage: normalizeUsage("compat", usage),
    turn: { ...NO_TURNS, openai: [sendable(message)] },
  };
}

/** Arguments are text written by a model, which need not be JSON. */
function inputOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The helper adds parsed fields, which no request may have. */
function sendable(message: ChatCompletionMessage): ChatCompletionMessage {
  const text = JSON.stringify(message, (name, value: unknown) => (/^parsed/.test(name) ? undefined : value));
  return JSON.parse(text) as ChatCompletionMessage;
}

async function assembled(client: OpenAI, { form, model, params, wantsUsage = false }: ChatCall): Promise<Assembled> {
  const body = { ...params, model };
  if (form === "unary") return ofCompletion(await client.chat.completions.create(body), 1);
  const streamed = { ...body, stream: true as const, ...(wantsUsage && { stream_options: { include_usage: true } }) };
  const chunks: ChatCompletionChunk[] = [];
  if (form === "raw") {
    for await (const chunk of await client.chat.completions.create(streamed)) chunks.push(chunk);
    return ofChunks(chunks);
  }
  const stream = client.chat.completions.stream(streamed).on("chunk", (chunk) => chunks.push(chunk));
  const helped = ofCompletion(await stream.finalChatCompletion(), 0);
  // The helper keeps only the last piece of an unknown field, so a program assembles those itself.
  const { message, pieces } = ofChunks(chunks);
  assert.equal(helped.message.content ?? "", message.content ?? "", "the helper and the chunks tell one text");
  return { ...helped, pieces, message: { ...helped.message, ...reasoningOf(message) } };
}

function ofCompletion({ id, model, choices, usage }: ChatCompletion, pieces: number): Assembled {
  const [choice] = choices;
  assert.ok(choice);
  return { id, model, message: choice.message, finish: choice.finish_reason, pieces, usage };
}

function reasoningOf({ reasoning_content, reasoning_details }: Reasoned): Reasoned {
  return { ...(reasoning_content && { reasoning_content }), ...(reasoning_details && { reasoning_details }) };
}

/** Assembles the chunks like a program that reads a raw stream. */
function ofChunks(chunks: readonly ChatCompletionChunk[]): Assembled {
  let content = "";
  let refusal: string | null = null;
  let reasoning = "";
  let role: string | undefined;
  let finish: string | null | undefined;
  let usage: unknown;
  let pieces = 0;
  const details = new Map<number, ReasoningDetail>();
  const calls: { id: string; type: "function"; function: { name: string; arguments: string } }[] = [];
  for (const chunk of chunks) {
    assert.equal(chunk.object, "chat.completion.chunk");
    if (chunk.usage) usage = chunk.usage;
    for (const { delta, finish_reason: reason, index } of chunk.choices) {
      if (index > 0) continue; // only the first of several answers is read
      assert.ok(finish == null || reason == null, "one chunk ends the answer");
      finish = reason ?? finish;
      const { reasoning_content: thought, reasoning_details: found }: Reasoned = delta as Reasoned;
      role = delta.role ?? role;
      content += delta.content ?? "";
      if (delta.content) pieces += 1;
      if (delta.refusal) refusal = (refusal ?? "") + delta.refusal;
      reasoning += thought ?? "";
      for (const detail of found ?? []) details.set(detail.index ?? 0, merge(details.get(detail.index ?? 0), detail));
      for (const { index: at, id, function: made } of delta.tool_calls ?? []) {
        assert.ok(at <= calls.length, "tool calls are numbered from 0 without gaps");
        calls[at] ??= { id: "", type: "function", function: { name: "", arguments: "" } };
        const call = calls[at];
        call.id ||= id ?? "";
        call.function.name ||= made?.name ?? "";
        call.function.arguments += made?.arguments ?? "";
      }
    }
  }
  assert.equal(role, "assistant");
  const [first] = chunks;
  assert.ok(first, "there are chunks");
  assert.ok(
    chunks.every(({ id, model }) => id === first.id && model === first.model),
    "all chunks are of one answer",
  );
  const message: ChatCompletionMessage & Reasoned = {
    role: "assistant",
    content: content === "" ? null : content,
    refusal,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(details.size > 0 && { reasoning_details: [...details.values()] }),
  };
  return { id: first.id, model: first.model, message, finish, pieces, usage };
}

function merge(known: ReasoningDetail | undefined, news: ReasoningDetail): ReasoningDetail {
  const text = `${known?.text ?? ""}${news.text ?? ""}`;
  return { ...known, ...news, ...(text !== "" && { text }) };
}
