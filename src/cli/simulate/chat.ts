/**
 * `POST /v1/chat/completions`, whole and streamed.
 *
 * Source: the OpenAPI document of the compat dialect. With `stream_options.include_usage` one more chunk follows the
 * last choice, with no choices and the usage, and every other chunk carries `usage: null`; without it no chunk has the
 * key. `prompt_tokens` includes what was cached, `completion_tokens` includes reasoning.
 */

import { type Ask, countPrompt, type OfferedTool, type PromptCounter } from "./ask.ts";
import { checkChat } from "./chat-rules.ts";
import { errorBody, Refused } from "./errors.ts";
import { arrayOf, integerOf, type Json, type JsonObject, objectOf, objectsOf, stringOf } from "./json.ts";
import { type Reply, replyTo, type Usage } from "./reply.ts";
import { type Answer, type Call, idOf, json } from "./route.ts";
import { piecesOf, wordsOf } from "./text.ts";

/** Characters of a tool's arguments in one chunk. */
const ARGUMENT_PIECE = 12;

const FINISH = { end: "stop", length: "length", stop: "stop", call: "tool_calls" } as const;

export function answerChat(call: Call): Answer {
  const { body, model } = call;
  checkChat(body);
  const reply = replyTo(readChat(model, body), call.fault, call.memory);
  const choices = integerOf(body["n"]) ?? 1;
  const tokens = { input: reply.usage.input, output: reply.usage.output * choices };
  if (body["stream"] !== true) return json(wholeChat(call, reply, choices), tokens);
  return {
    kind: "events",
    frames: chatFrames(call, reply, choices),
    failure: compatFailureFrame(call.requestId),
    tokens,
  };
}

export function readChat(model: string, body: JsonObject): Ask {
  const prompt = countPrompt();
  let question = "";
  let toolAnswer: string | undefined;
  for (const message of objectsOf(body["messages"])) {
    const text = readContent(message["content"], prompt);
    const role = message["role"];
    if (role === "user") question = text;
    toolAnswer = role === "tool" || role === "function" ? text : undefined;
    for (const made of objectsOf(message["tool_calls"])) {
      prompt.text(stringOf(objectOf(made["function"])?.["arguments"]) ?? "");
    }
  }
  const effort = stringOf(body["reasoning_effort"]) ?? "none";
  return {
    model,
    question,
    toolAnswer,
    tool: offeredTool(body),
    answerSchema: answerSchema(objectOf(body["response_format"])),
    isThinking: effort !== "none",
    prompt: prompt.done(),
    maxTokens: integerOf(body["max_completion_tokens"]) ?? integerOf(body["max_tokens"]),
    stops: stopsOf(body["stop"]),
  };
}

/** Counts the parts of a message's content and gives its text. */
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

function offeredTool(body: JsonObject): OfferedTool | undefined {
  const choice = body["tool_choice"] ?? body["function_call"];
  if (choice === "none") return undefined;
  const functions = [
    ...objectsOf(body["tools"]).map((tool) => objectOf(tool["function"]) ?? {}),
    ...objectsOf(body["functions"]),
  ];
  const wanted = stringOf(objectOf(objectOf(choice)?.["function"])?.["name"] ?? objectOf(choice)?.["name"]);
  const found = functions.find(({ name }) => typeof name === "string" && (wanted === undefined || name === wanted));
  if (found !== undefined) return { name: stringOf(found["name"]) ?? "", parameters: found["parameters"] };
  if (wanted !== undefined)
    throw new Refused(400, "tool_choice names a tool that is not among the tools.", "tool_choice");
  return undefined;
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
  const { thinking, text, call: made } = reply;
  const reasoning = thinking === "" ? "" : `,"reasoning_content":${JSON.stringify(thinking)}`;
  const content = made === undefined ? JSON.stringify(text) : "null";
  let list = "";
  for (let index = 0; index < choices; index += 1) {
    const calls =
      made === undefined
        ? ""
        : `,"tool_calls":[${toolCall(call.serial, index, made.name, JSON.stringify(made.input))}]`;
    list +=
      `${index === 0 ? "" : ","}{"index":${index},"message":{"role":"assistant","content":${content},"refusal":null,` +
      `"annotations":[]${reasoning}${calls}},"logprobs":null,"finish_reason":"${FINISH[reply.finish]}"}`;
  }
  return (
    `{"id":"${idOf("chatcmpl-", call.serial)}","object":"chat.completion","created":${call.now},` +
    `"model":${JSON.stringify(call.model)},"choices":[${list}],"usage":${compatUsage(reply.usage, choices)},` +
    `"service_tier":"default","system_fingerprint":"fp_simulated"}`
  );
}

/** `input` is JSON text: the arguments as a string. */
function toolCall(serial: number, choice: number, name: string, input: string): string {
  const id = idOf("call_", serial) + (choice === 0 ? "" : `_${choice}`);
  return `{"id":"${id}","type":"function","function":{"name":${JSON.stringify(name)},"arguments":${input}}}`;
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
    const content = reply.call === undefined ? `""` : "null";
    yield `${open}{"role":"assistant","content":${content},"refusal":null}${close}`;
    for (const word of wordsOf(reply.thinking)) yield `${open}{"reasoning_content":${JSON.stringify(word)}}${close}`;
    if (reply.call !== undefined) {
      const first = toolCall(call.serial, index, reply.call.name, `""`).replace("{", `{"index":0,`);
      yield `${open}{"tool_calls":[${first}]}${close}`;
      for (const piece of piecesOf(reply.call.input, ARGUMENT_PIECE)) {
        const text = JSON.stringify(piece);
        yield `${open}{"tool_calls":[{"index":0,"function":{"arguments":${text}}}]}${close}`;
      }
    }
    for (const word of wordsOf(reply.text)) yield `${open}{"content":${JSON.stringify(word)}}${close}`;
    yield `${open}{},"logprobs":null,"finish_reason":"${FINISH[reply.finish]}"}${tail}`;
  }
  if (wantsUsage) yield `${head}],"usage":${compatUsage(reply.usage, choices)}}\n\n`;
  yield "data: [DONE]\n\n";
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
