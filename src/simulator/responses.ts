/**
 * `POST /v1/responses`, whole and streamed, and the same events for its WebSocket.
 *
 * Source: the OpenAPI document of the compat dialect. Each event has a rising `sequence_number`; the stream ends with
 * `response.completed` or `response.incomplete`, which carries the usage, and has no `[DONE]`.
 */

import { type Ask, countPrompt, type OfferedTool, type PromptCounter } from "./ask.ts";
import { Refused } from "./errors.ts";
import { integerOf, type Json, type JsonObject, objectOf, objectsOf, stringOf } from "./json.ts";
import { type Reply, replyTo, type ToolCall } from "./reply.ts";
import { type Answer, type Call, idOf, json, type Tokens } from "./route.ts";
import { piecesOf, wordsOf } from "./text.ts";

/** Characters of a tool's arguments in one event. */
const ARGUMENT_PIECE = 12;

export interface ResponseEvent {
  readonly type: string;
  /** The whole event as JSON text. */
  readonly json: string;
}

export interface ResponseStream {
  readonly events: Iterable<ResponseEvent>;
  readonly failure: ResponseEvent;
  readonly tokens: Tokens;
}

export function answerResponses(call: Call): Answer {
  if (call.body["stream"] !== true) {
    const reply = replyTo(readResponses(call.model, call.body), call.fault, call.memory);
    const text = JSON.stringify(responseObject(call, reply, "done"));
    return json(text, { input: reply.usage.input, output: reply.usage.output });
  }
  const { events, failure, tokens } = streamResponses(call);
  return { kind: "events", frames: framesOf(events), failure: frameOf(failure), tokens };
}

export function streamResponses(call: Call): ResponseStream {
  const reply = replyTo(readResponses(call.model, call.body), call.fault, call.memory);
  const message = "The simulated provider failed within the stream.";
  const failure = { type: "error", code: "server_error", message, param: null, sequence_number: 0 };
  return {
    events: responseEvents(call, reply),
    failure: { type: "error", json: JSON.stringify(failure) },
    tokens: { input: reply.usage.input, output: reply.usage.output },
  };
}

export function countResponseTokens(call: Call): Answer {
  const { prompt } = readResponses(call.model, call.body);
  return json(`{"object":"response.input_tokens","input_tokens":${prompt.tokens}}`);
}

function* framesOf(events: Iterable<ResponseEvent>): Generator<string> {
  for (const event of events) yield frameOf(event);
}

function frameOf({ type, json: text }: ResponseEvent): string {
  return `event: ${type}\ndata: ${text}\n\n`;
}

export function readResponses(model: string, body: JsonObject): Ask {
  const prompt = countPrompt();
  prompt.text(stringOf(body["instructions"]) ?? "");
  let question = "";
  let toolAnswer: string | undefined;
  let toolRounds = 0;
  const { input } = body;
  if (typeof input === "string") {
    prompt.text(input);
    question = input;
  }
  for (const item of objectsOf(input)) {
    const isResult = item["type"] === "function_call_output";
    if (isResult && toolAnswer === undefined) toolRounds += 1;
    toolAnswer = undefined;
    if (isResult) {
      toolAnswer = readParts(item["output"], prompt);
    } else if (item["type"] === "message" || item["role"] !== undefined) {
      const text = readParts(item["content"], prompt);
      if (item["role"] !== "user") continue;
      question = text;
      toolRounds = 0;
    } else prompt.text(stringOf(item["arguments"]) ?? "");
  }
  const effort = stringOf(objectOf(body["reasoning"])?.["effort"]) ?? "none";
  const format = objectOf(objectOf(body["text"])?.["format"]);
  return {
    model,
    question,
    toolAnswer,
    toolRounds,
    tools: offeredTools(body),
    allowsParallel: body["parallel_tool_calls"] !== false,
    answerSchema: format?.["type"] === "json_schema" ? (format["schema"] ?? {}) : undefined,
    isThinking: effort !== "none",
    prompt: prompt.done(),
    maxTokens: integerOf(body["max_output_tokens"]),
    stops: [],
  };
}

function readParts(content: Json | undefined, prompt: PromptCounter): string {
  if (typeof content === "string") {
    prompt.text(content);
    return content;
  }
  const texts: string[] = [];
  for (const part of objectsOf(content)) {
    const text = stringOf(part["text"]);
    if (text === undefined) prompt.media();
    else {
      prompt.text(text);
      texts.push(text);
    }
    if (part["prompt_cache_breakpoint"] !== undefined) prompt.mark();
  }
  return texts.join(" ");
}

function offeredTools(body: JsonObject): readonly OfferedTool[] {
  const choice = body["tool_choice"];
  if (choice === "none") return [];
  const wanted = objectOf(choice)?.["type"] === "function" ? stringOf(objectOf(choice)?.["name"]) : undefined;
  const found = objectsOf(body["tools"]).filter(
    (tool) => tool["type"] === "function" && (wanted === undefined || tool["name"] === wanted),
  );
  if (found.length === 0 && wanted !== undefined) {
    throw new Refused(400, "tool_choice names a tool that is not among the tools.", "tool_choice");
  }
  return found.map((tool) => ({ name: stringOf(tool["name"]) ?? "", parameters: tool["parameters"] }));
}

/** `started`: as at the beginning of a stream, without output and usage. */
function responseObject({ serial, now, model, body }: Call, reply: Reply, state: "started" | "done"): JsonObject {
  const isWhole = reply.finish !== "length";
  const isDone = state === "done";
  const { usage } = reply;
  return {
    id: idOf("resp_", serial),
    object: "response",
    created_at: now,
    status: isDone ? (isWhole ? "completed" : "incomplete") : "in_progress",
    error: null,
    incomplete_details: isDone && !isWhole ? { reason: "max_output_tokens" } : null,
    instructions: body["instructions"] ?? null,
    max_output_tokens: body["max_output_tokens"] ?? null,
    metadata: body["metadata"] ?? {},
    model,
    output: isDone ? outputItems(serial, reply) : [],
    parallel_tool_calls: true,
    previous_response_id: body["previous_response_id"] ?? null,
    reasoning: { effort: objectOf(body["reasoning"])?.["effort"] ?? null, summary: null },
    service_tier: "default",
    store: false,
    temperature: 1,
    text: { format: objectOf(body["text"])?.["format"] ?? { type: "text" } },
    tool_choice: body["tool_choice"] ?? "auto",
    tools: body["tools"] ?? [],
    top_p: 1,
    truncation: "disabled",
    usage: isDone
      ? {
          input_tokens: usage.input,
          input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
          output_tokens: usage.output,
          output_tokens_details: { reasoning_tokens: usage.thinking },
          total_tokens: usage.input + usage.output,
        }
      : null,
  };
}

function outputItems(serial: number, reply: Reply): readonly JsonObject[] {
  const items: JsonObject[] = [];
  if (reply.thinking !== "") items.push(reasoningItem(serial, reply));
  if (reply.calls.length === 0 || reply.text !== "") items.push(messageItem(serial, reply));
  items.push(...reply.calls.map((made, index) => callItem(serial, made, index)));
  return items;
}

function reasoningItem(serial: number, reply: Reply): JsonObject {
  return { id: idOf("rs_", serial), type: "reasoning", summary: [{ type: "summary_text", text: reply.thinking }] };
}

function messageItem(serial: number, reply: Reply): JsonObject {
  const status = reply.finish === "length" ? "incomplete" : "completed";
  return { id: idOf("msg_", serial), type: "message", status, role: "assistant", content: [outputText(reply.text)] };
}

function callItem(serial: number, { name, input }: ToolCall, index: number): JsonObject {
  const suffix = index === 0 ? "" : `_${index}`;
  const ids = { id: idOf("fc_", serial) + suffix, call_id: idOf("call_", serial) + suffix };
  return { ...ids, type: "function_call", status: "completed", name, arguments: input };
}

function outputText(text: string): JsonObject {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

function* responseEvents(call: Call, reply: Reply): Generator<ResponseEvent> {
  let sequence = 0;
  const event = (type: string, fields: JsonObject): ResponseEvent => {
    const text = JSON.stringify({ type, ...fields, sequence_number: sequence });
    sequence += 1;
    return { type, json: text };
  };
  const started = responseObject(call, reply, "started");
  yield event("response.created", { response: started });
  yield event("response.in_progress", { response: started });
  let at = 0;
  if (reply.thinking !== "") {
    const item = reasoningItem(call.serial, reply);
    yield event("response.output_item.added", { output_index: at, item: { ...item, summary: [] } });
    yield event("response.output_item.done", { output_index: at, item });
    at += 1;
  }
  if (reply.calls.length === 0 || reply.text !== "") {
    const item = messageItem(call.serial, reply);
    const place = { item_id: item["id"] ?? "", output_index: at, content_index: 0 };
    yield event("response.output_item.added", {
      output_index: at,
      item: { ...item, status: "in_progress", content: [] },
    });
    yield event("response.content_part.added", { ...place, part: outputText("") });
    for (const delta of wordsOf(reply.text))
      yield event("response.output_text.delta", { ...place, delta, logprobs: [] });
    yield event("response.output_text.done", { ...place, text: reply.text, logprobs: [] });
    yield event("response.content_part.done", { ...place, part: outputText(reply.text) });
    yield event("response.output_item.done", { output_index: at, item });
    at += 1;
  }
  for (const [index, made] of reply.calls.entries()) {
    const item = callItem(call.serial, made, index);
    const place = { item_id: item["id"] ?? "", output_index: at };
    yield event("response.output_item.added", {
      output_index: at,
      item: { ...item, status: "in_progress", arguments: "" },
    });
    for (const delta of piecesOf(made.input, ARGUMENT_PIECE)) {
      yield event("response.function_call_arguments.delta", { ...place, delta });
    }
    yield event("response.function_call_arguments.done", { ...place, name: made.name, arguments: made.input });
    yield event("response.output_item.done", { output_index: at, item });
    at += 1;
  }
  const done = responseObject(call, reply, "done");
  yield event(`response.${reply.finish === "length" ? "incomplete" : "completed"}`, { response: done });
}
