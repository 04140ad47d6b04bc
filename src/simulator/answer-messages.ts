/**
 * Answers `POST /v1/messages`, whole and streamed, and `POST /v1/messages/count_tokens`.
 *
 * Source: the types of the official SDK. `input_tokens` excludes cache reads and writes; `output_tokens` includes
 * thinking. In a stream, usage is cumulative: the counts of `message_delta` replace those of `message_start`. Every
 * event has an `event:` line, since SDKs drop data without one.
 */

import { countWords, piecesOf, takeWords, wordsOf } from "./answer-text.ts";
import { summarizeMessages } from "./comparable-summary.ts";
import { errorBody } from "./dialect-errors.ts";
import { REFUSAL_TEXT, type Reply, replyTo, tokensOf } from "./generate-reply.ts";
import { countPrompt, type GenerationRequest, type OfferedTool, type PromptCounter } from "./generation-request.ts";
import {
  arrayOf,
  integerOf,
  type Json,
  type JsonObject,
  objectOf,
  objectsOf,
  parseJson,
  stringOf,
} from "./json-fields.ts";
import { storeThread, withThread } from "./message-threads.ts";
import { deformEvents } from "./messages-oddities.ts";
import { variantOf } from "./response-variants.ts";
import { type Answer, type Call, idOf, json } from "./route-types.ts";
import { checkCounted, checkMessages } from "./rules/index.ts";
import { omittedSignatureOf, redactedOf, signatureOf } from "./thinking-signature.ts";

/** Number of characters of a tool's input in one event. */
const INPUT_PIECE = 12;

const STOP = {
  end: "end_turn",
  length: "max_tokens",
  stop: "stop_sequence",
  call: "tool_use",
  refusal: "refusal",
  filtered: "refusal",
  pause: "pause_turn",
  context: "model_context_window_exceeded",
} as const;

export function answerMessages(asked: Call): Answer {
  const call = withThread(asked);
  const { body, model } = call;
  checkMessages(body, call.headers, variantOf(model));
  const reply = replyTo(readMessages(model, body), call.fault, call.memory);
  const thread = objectOf(asked.body["thread"]);
  if (thread !== undefined) storeThread(call, wholeMessage(call, reply, true));
  const { oddities, ignoresStream: isWhole } = reply.variant;
  const showsThinking = objectOf(body["thinking"])?.["display"] !== "omitted";
  const tokens = tokensOf(reply.usage);
  if (body["stream"] !== true || isWhole) return json(wholeMessage(call, reply, showsThinking), tokens);
  const usual = messageFrames(call, reply, showsThinking);
  const frames = oddities.size === 0 ? usual : deformEvents(usual, oddities);
  return { kind: "events", frames, failure: () => messagesFailureFrame(call.requestId), tokens };
}

export function countMessageTokens(call: Call): Answer {
  checkCounted(call.body, call.headers);
  const { prompt } = readMessages(call.model, call.body);
  return json(`{"input_tokens":${prompt.tokens}}`);
}

function readMessages(model: string, body: JsonObject): GenerationRequest {
  const prompt = countPrompt();
  const tools = objectsOf(body["tools"]);
  if (tools.some((tool) => tool["cache_control"])) {
    prompt.text(JSON.stringify(tools));
    prompt.mark();
  }
  readBlocks(body["system"], prompt);
  let question = "";
  let toolAnswer: string | undefined;
  let toolRounds = 0;
  for (const message of objectsOf(body["messages"])) {
    const read = readBlocks(message["content"], prompt);
    toolAnswer = message["role"] === "user" ? read.toolAnswer : undefined;
    if (message["role"] !== "user") continue;
    if (toolAnswer === undefined) question = read.text;
    toolRounds = toolAnswer === undefined ? 0 : toolRounds + 1;
  }
  if (objectOf(body["cache_control"]) !== undefined) prompt.mark();
  const thinking = objectOf(body["thinking"])?.["type"];
  const format = objectOf(objectOf(body["output_config"])?.["format"] ?? body["output_format"]);
  return {
    model,
    question,
    toolAnswer,
    toolRounds,
    tools: offeredTools(body),
    allowsParallel: objectOf(body["tool_choice"])?.["disable_parallel_tool_use"] !== true,
    answerSchema: format?.["type"] === "json_schema" ? (format["schema"] ?? {}) : undefined,
    isThinking: thinking === "enabled" || thinking === "adaptive",
    prompt: prompt.done(),
    maxTokens: integerOf(body["max_tokens"]),
    stops: (arrayOf(body["stop_sequences"]) ?? []).filter((each) => typeof each === "string"),
    summarize: () => summarizeMessages(body),
  };
}

interface Blocks {
  readonly text: string;
  /** Result of a tool; `undefined` if no block is one. */
  readonly toolAnswer: string | undefined;
}

function readBlocks(content: Json | undefined, prompt: PromptCounter): Blocks {
  if (typeof content === "string") {
    prompt.text(content);
    return { text: content, toolAnswer: undefined };
  }
  const texts: string[] = [];
  let toolAnswer: string | undefined;
  for (const block of objectsOf(content)) {
    const type = block["type"];
    if (type === "text") {
      const text = stringOf(block["text"]) ?? "";
      prompt.text(text);
      texts.push(text);
    } else if (type === "tool_result") toolAnswer = readBlocks(block["content"], prompt).text;
    else if (type === "tool_use") prompt.text(JSON.stringify(block["input"] ?? {}));
    else if (type === "thinking") prompt.text(stringOf(block["thinking"]) ?? "");
    else prompt.media();
    if (objectOf(block["cache_control"]) !== undefined) prompt.mark();
  }
  return { text: texts.join(" "), toolAnswer };
}

/**
 * Returns the tools that can be called. Predefined tools of the client or the provider are never called, since they
 * have no schema to fill in.
 */
function offeredTools(body: JsonObject): readonly OfferedTool[] {
  const choice = objectOf(body["tool_choice"]);
  if (choice?.["type"] === "none") return [];
  const wanted = choice?.["type"] === "tool" ? stringOf(choice["name"]) : undefined;
  return objectsOf(body["tools"])
    .filter((tool) => objectOf(tool["input_schema"]) !== undefined && (wanted === undefined || tool["name"] === wanted))
    .map((tool) => ({ name: stringOf(tool["name"]) ?? "", parameters: tool["input_schema"] }));
}

function wholeMessage(call: Call, reply: Reply, showsThinking: boolean): string {
  const blocks: string[] = [];
  if (reply.thinking !== "") blocks.push(thinkingBlock(reply, showsThinking));
  for (const text of textsOf(reply)) blocks.push(`{"type":"text","text":${JSON.stringify(text)}}`);
  for (const [at, { name, input }] of reply.calls.entries()) {
    blocks.push(toolUse(call.serial, at, name, reply.finish === "length" && !isJson(input) ? "{}" : input));
  }
  return message(call, reply, blocks.join(","), stopOf(reply), reply.usage.output);
}

/** Returns whether the input is complete. The input of a call that a limit cut off is not. */
function isJson(input: string): boolean {
  try {
    parseJson(input);
    return true;
  } catch {
    return false;
  }
}

function thinkingBlock({ thinking, variant }: Reply, showsThinking: boolean): string {
  if (variant.isRedacted) return `{"type":"redacted_thinking","data":"${redactedOf(thinking)}"}`;
  const signature = showsThinking ? signatureOf(thinking) : omittedSignatureOf(thinking);
  return `{"type":"thinking","thinking":${JSON.stringify(showsThinking ? thinking : "")},"signature":"${signature}"}`;
}

/** Returns the text in the number of blocks of the variant, each with whole words and none empty. */
function textsOf({ text, variant }: Reply): readonly string[] {
  if (variant.texts === 1) return text === "" ? [] : [text];
  const size = Math.ceil(countWords(text) / variant.texts);
  const texts: string[] = [];
  for (let rest = text; rest !== ""; ) {
    const next = takeWords(rest, size);
    texts.push(next);
    rest = rest.slice(next.length);
  }
  return texts;
}

function* messageFrames(call: Call, reply: Reply, showsThinking: boolean): Generator<string> {
  const { usage, thinking } = reply;
  const unstopped = `"stop_reason":null,"stop_sequence":null,"stop_details":null`;
  yield frame("message_start", `"message":${message(call, reply, "", unstopped, usage.output === 0 ? 0 : 1)}`);
  let index = 0;
  if (thinking !== "") {
    if (reply.variant.isRedacted) yield start(index, thinkingBlock(reply, showsThinking));
    else {
      yield start(index, `{"type":"thinking","thinking":"","signature":""}`);
      if (showsThinking) {
        for (const word of wordsOf(thinking)) yield delta(index, "thinking_delta", "thinking", word);
      }
      const signature = showsThinking ? signatureOf(thinking) : omittedSignatureOf(thinking);
      yield delta(index, "signature_delta", "signature", signature);
    }
    yield frame("content_block_stop", `"index":${index}`);
    index += 1;
  }
  yield frame("ping", "");
  for (const text of textsOf(reply)) {
    yield start(index, `{"type":"text","text":""}`);
    for (const word of wordsOf(text)) yield delta(index, "text_delta", "text", word);
    yield frame("content_block_stop", `"index":${index}`);
    index += 1;
  }
  for (const [at, { name, input }] of reply.calls.entries()) {
    yield start(index, toolUse(call.serial, at, name, "{}"));
    yield delta(index, "input_json_delta", "partial_json", "");
    // A call without arguments has only the empty fragment.
    for (const piece of input === "{}" ? [] : piecesOf(input, INPUT_PIECE)) {
      yield delta(index, "input_json_delta", "partial_json", piece);
    }
    yield frame("content_block_stop", `"index":${index}`);
    index += 1;
  }
  yield frame(
    "message_delta",
    `"delta":{${stopOf(reply)},"container":null},"usage":${messagesUsage(reply, usage.output)}`,
  );
  yield frame("message_stop", "");
}

function message(call: Call, reply: Reply, content: string, stop: string, output: number): string {
  return (
    `{"id":"${idOf("msg_", call.serial)}","type":"message","role":"assistant","model":${JSON.stringify(call.model)},` +
    `"content":[${content}],${stop},"container":null,"usage":${messagesUsage(reply, output)}}`
  );
}

function stopOf(reply: Reply): string {
  const explanation = reply.finish === "refusal" ? JSON.stringify(REFUSAL_TEXT) : "null";
  const isRefused = STOP[reply.finish] === "refusal";
  const details = isRefused ? `{"type":"refusal","category":null,"explanation":${explanation}}` : "null";
  const sequence = JSON.stringify(reply.stopSequence);
  return `"stop_reason":"${STOP[reply.finish]}","stop_sequence":${sequence},"stop_details":${details}`;
}

function messagesUsage({ usage }: Reply, output: number): string {
  return (
    `{"input_tokens":${usage.input - usage.cacheRead - usage.cacheWrite},` +
    `"cache_creation_input_tokens":${usage.cacheWrite},"cache_read_input_tokens":${usage.cacheRead},` +
    `"cache_creation":{"ephemeral_5m_input_tokens":${usage.cacheWrite},"ephemeral_1h_input_tokens":0},` +
    `"output_tokens":${output},"output_tokens_details":{"thinking_tokens":${Math.min(usage.thinking, output)}},` +
    `"server_tool_use":null,"service_tier":"standard","inference_geo":null}`
  );
}

/** Returns a call. `input` is JSON text. */
function toolUse(serial: number, at: number, name: string, input: string): string {
  const id = idOf("toolu_", serial) + (at === 0 ? "" : `_${at}`);
  return `{"type":"tool_use","id":"${id}","name":${JSON.stringify(name)},"input":${input}}`;
}

/** Returns a frame. `fields` are the members besides the type. */
function frame(type: string, fields: string): string {
  return `event: ${type}\ndata: {"type":"${type}"${fields === "" ? "" : `,${fields}`}}\n\n`;
}

function start(index: number, block: string): string {
  return frame("content_block_start", `"index":${index},"content_block":${block}`);
}

function delta(index: number, type: string, key: string, text: string): string {
  return frame("content_block_delta", `"index":${index},"delta":{"type":"${type}","${key}":${JSON.stringify(text)}}`);
}

function messagesFailureFrame(requestId: string): string {
  const message = "The simulated provider failed within the stream.";
  return `event: error\ndata: ${errorBody("messages", { status: 529, message, param: null, requestId })}\n\n`;
}
