/**
 * Answers `POST /v1/chat/completions`, whole and streamed.
 *
 * Source: the OpenAPI document of the compat dialect. With `stream_options.include_usage` an additional chunk with the
 * usage and without choices follows the last choice, and every other chunk has `usage: null`; without it no chunk has
 * the key. `prompt_tokens` includes cached tokens, `completion_tokens` includes reasoning.
 */

import { piecesOf, wordsOf } from "./answer-text.ts";
import { deformBody, deformFrames } from "./chat-oddities.ts";
import { summarizeChat } from "./comparable-summary.ts";
import { errorBody } from "./dialect-errors.ts";
import { REFUSAL_TEXT, type Reply, replyTo, type ToolCall, tokensOf, type Usage } from "./generate-reply.ts";
import { countPrompt, type GenerationRequest, type OfferedTool, type PromptCounter } from "./generation-request.ts";
import { arrayOf, integerOf, type Json, type JsonObject, objectOf, objectsOf, stringOf } from "./json-fields.ts";
import { variantOf } from "./response-variants.ts";
import { type Answer, type Call, idOf, json } from "./route-types.ts";
import { checkChat } from "./rules/index.ts";

/** Number of characters of a tool's arguments in one chunk. */
const ARGUMENT_PIECE = 12;

const FINISH = {
  end: "stop",
  length: "length",
  stop: "stop",
  call: "tool_calls",
  refusal: "content_filter",
  filtered: "content_filter",
  pause: "stop",
  context: "length",
} as const;

export function answerChat(call: Call): Answer {
  const { body, model } = call;
  checkChat(body, variantOf(model));
  const reply = replyTo(readChat(model, body), call.fault, call.memory);
  const { oddities, ignoresStream: isWhole } = reply.variant;
  const choices = integerOf(body["n"]) ?? 1;
  const tokens = { ...tokensOf(reply.usage), output: reply.usage.output * choices };
  if (body["stream"] !== true || isWhole) {
    const whole = wholeChat(call, reply, choices);
    return json(oddities.size === 0 ? whole : deformBody(whole, oddities), tokens);
  }
  const usual = chatFrames(call, reply, choices);
  const frames =
    oddities.size === 0 ? usual : deformFrames(usual, oddities, compatUsage(reply.usage, choices), reply.thinking);
  return { kind: "events", frames, failure: () => compatFailureFrame(call.requestId), tokens };
}

function readChat(model: string, body: JsonObject): GenerationRequest {
  const prompt = countPrompt();
  let question = "";
  let toolAnswer: string | undefined;
  let toolRounds = 0;
  for (const message of objectsOf(body["messages"])) {
    const text = readContent(message["content"], prompt);
    const role = message["role"];
    if (role === "user") {
      question = text;
      toolRounds = 0;
    }
    const isResult = role === "tool" || role === "function";
    if (isResult && toolAnswer === undefined) toolRounds += 1;
    toolAnswer = isResult ? text : undefined;
    for (const made of objectsOf(message["tool_calls"])) {
      prompt.text(stringOf(objectOf(made["function"])?.["arguments"]) ?? "");
    }
  }
  return {
    model,
    question,
    toolAnswer,
    toolRounds,
    tools: offeredTools(body),
    allowsParallel: body["parallel_tool_calls"] !== false && body["functions"] === undefined,
    answerSchema: answerSchema(objectOf(body["response_format"])),
    isThinking: asksForThinking(body),
    prompt: prompt.done(),
    maxTokens: integerOf(body["max_completion_tokens"]) ?? integerOf(body["max_tokens"]),
    stops: stopsOf(body["stop"]),
    summarize: () => summarizeChat(body),
  };
}

/** Returns whether the request asks for thinking: by an effort or, with extensions, a budget. */
function asksForThinking(body: JsonObject): boolean {
  const effort = body["reasoning_effort"] ?? objectOf(body["reasoning"])?.["effort"] ?? "none";
  const type = objectOf(body["thinking"])?.["type"] ?? "disabled";
  return effort !== "none" || type !== "disabled" || objectOf(body["reasoning"])?.["max_tokens"] !== undefined;
}

/** Counts the parts of a message's content and returns its text. */
function readContent(content: Json | undefined, prompt: PromptCounter): string {
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
    if (part["prompt_cache_breakpoint"] !== undefined || part["cache_control"] !== undefined) prompt.mark();
  }
  return texts.join(" ");
}

/** Returns the functions that the choice allows. `chat-rules.ts` has checked that the named ones are offered. */
function offeredTools(body: JsonObject): readonly OfferedTool[] {
  const choice = body["tool_choice"] ?? body["function_call"];
  if (choice === "none") return [];
  const named = objectOf(choice);
  const allowed = objectOf(named?.["allowed_tools"])?.["tools"];
  const wanted = allowed === undefined ? (named === undefined ? undefined : [named]) : objectsOf(allowed);
  const names = wanted?.map((each) => stringOf(objectOf(each["function"])?.["name"] ?? each["name"]));
  return [...objectsOf(body["tools"]).map((tool) => objectOf(tool["function"]) ?? {}), ...objectsOf(body["functions"])]
    .map(({ name, parameters }) => ({ name: stringOf(name) ?? "", parameters }))
    .filter(({ name }) => name !== "" && (names === undefined || names.includes(name)));
}

function answerSchema(format: JsonObject | undefined): Json | undefined {
  if (format?.["type"] === "json_object") return { type: "object", properties: { answer: { type: "string" } } };
  return format?.["type"] === "json_schema" ? (objectOf(format["json_schema"])?.["schema"] ?? {}) : undefined;
}

export function stopsOf(stop: Json | undefined): readonly string[] {
  if (typeof stop === "string") return [stop];
  return (arrayOf(stop) ?? []).filter((each) => typeof each === "string");
}

function wholeChat(call: Call, reply: Reply, choices: number): string {
  const { text, calls } = reply;
  const reasoning = shownThinking(reply) === "" ? "" : `,"reasoning_content":${JSON.stringify(reply.thinking)}`;
  const isRefusal = reply.finish === "refusal";
  const content = isRefusal || (calls.length > 0 && text === "") ? "null" : JSON.stringify(text);
  const refusal = isRefusal ? JSON.stringify(REFUSAL_TEXT) : "null";
  let list = "";
  for (let index = 0; index < choices; index += 1) {
    list +=
      `${index === 0 ? "" : ","}{"index":${index},"message":{"role":"assistant","content":${content},` +
      `"refusal":${refusal},"annotations":[]${reasoning}${wholeCalls(call, calls, index)}},` +
      `"logprobs":null,"finish_reason":"${finishOf(call, reply)}"}`;
  }
  return (
    `{"id":"${idOf("chatcmpl-", call.serial)}","object":"chat.completion","created":${call.now},` +
    `"model":${JSON.stringify(call.model)},"choices":[${list}],"usage":${compatUsage(reply.usage, choices)},` +
    `"service_tier":"default","system_fingerprint":"fp_simulated"}`
  );
}

/** Returns whether the request offers `functions`. It is answered in that form, which has one call and no id. */
function isLegacy({ body }: Call): boolean {
  return body["functions"] !== undefined;
}

function finishOf(call: Call, { finish }: Reply): string {
  return finish === "call" && isLegacy(call) ? "function_call" : FINISH[finish];
}

/** Returns the member of the message that contains the calls, with the comma before it; empty if nothing is called. */
function wholeCalls(call: Call, calls: readonly ToolCall[], choice: number): string {
  const [first] = calls;
  if (first === undefined) return "";
  if (isLegacy(call)) return `,"function_call":${calledFunction(first, JSON.stringify(first.input))}`;
  const made = calls.map((each, at) => toolCall(callId(call.serial, choice, at), each, JSON.stringify(each.input)));
  return `,"tool_calls":[${made.join(",")}]`;
}

/** Returns the thinking that is shown. Encrypted thinking is counted but not shown. */
function shownThinking({ thinking, variant }: Reply): string {
  return variant.isRedacted ? "" : thinking;
}

function callId(serial: number, choice: number, at: number): string {
  const suffix = at > 0 ? `_${choice}_${at}` : choice > 0 ? `_${choice}` : "";
  return idOf("call_", serial) + suffix;
}

/** Returns a call. `input` is JSON text; the arguments are that text as a string. */
function toolCall(id: string, made: ToolCall, input: string): string {
  return `{"id":"${id}","type":"function","function":${calledFunction(made, input)}}`;
}

function calledFunction({ name }: ToolCall, input: string): string {
  return `{"name":${JSON.stringify(name)},"arguments":${input}}`;
}

function* chatFrames(call: Call, reply: Reply, choices: number): Generator<string> {
  const wantsUsage = objectOf(call.body["stream_options"])?.["include_usage"] === true;
  const head =
    `data: {"id":"${idOf("chatcmpl-", call.serial)}","object":"chat.completion.chunk","created":${call.now},` +
    `"model":${JSON.stringify(call.model)},"service_tier":"default","system_fingerprint":"fp_simulated","choices":[`;
  const tail = wantsUsage ? `],"usage":null}\n\n` : "]}\n\n";
  for (let index = 0; index < choices; index += 1) {
    const open = `${head}{"index":${index},"delta":`;
    const close = `,"logprobs":null,"finish_reason":null}${tail}`;
    const content = reply.calls.length === 0 || reply.text !== "" ? `""` : "null";
    yield `${open}{"role":"assistant","content":${content},"refusal":null}${close}`;
    for (const word of wordsOf(shownThinking(reply))) {
      yield `${open}{"reasoning_content":${JSON.stringify(word)}}${close}`;
    }
    for (const word of wordsOf(reply.text)) yield `${open}{"content":${JSON.stringify(word)}}${close}`;
    if (reply.finish === "refusal") {
      for (const word of wordsOf(REFUSAL_TEXT)) yield `${open}{"refusal":${JSON.stringify(word)}}${close}`;
    }
    for (const [at, made] of reply.calls.entries()) {
      for (const delta of callDeltas(call, made, index, at)) yield `${open}{${delta}}${close}`;
    }
    yield `${open}{},"logprobs":null,"finish_reason":"${finishOf(call, reply)}"}${tail}`;
  }
  if (wantsUsage) yield `${head}],"usage":${compatUsage(reply.usage, choices)}}\n\n`;
  yield "data: [DONE]\n\n";
}

function* callDeltas(call: Call, made: ToolCall, choice: number, at: number): Generator<string> {
  const isOld = isLegacy(call);
  const first = toolCall(callId(call.serial, choice, at), made, `""`).replace("{", `{"index":${at},`);
  yield isOld ? `"function_call":${calledFunction(made, `""`)}` : `"tool_calls":[${first}]`;
  for (const piece of piecesOf(made.input, ARGUMENT_PIECE)) {
    const part = `{"arguments":${JSON.stringify(piece)}}`;
    yield isOld ? `"function_call":${part}` : `"tool_calls":[{"index":${at},"function":${part}}]`;
  }
}

export function compatUsage(usage: Usage, choices: number): string {
  const output = usage.output * choices;
  const reasoning = usage.thinking * choices;
  return (
    `{"prompt_tokens":${usage.input},"completion_tokens":${output},"total_tokens":${usage.input + output},` +
    `"prompt_tokens_details":{"cached_tokens":${usage.cacheRead},"cache_write_tokens":${usage.cacheWrite},` +
    `"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":${reasoning},"audio_tokens":0,` +
    `"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`
  );
}

export function compatFailureFrame(requestId: string): string {
  const message = "The simulated provider failed within the stream.";
  return `data: ${errorBody("compat", { status: 500, message, param: null, requestId })}\n\n`;
}
