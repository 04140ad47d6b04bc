/**
 * `POST /v1/messages`, whole and streamed, and `POST /v1/messages/count_tokens`.
 *
 * Source: the types of the official SDK. `input_tokens` excludes what was read from and written to the cache;
 * `output_tokens` includes thinking. In a stream, usage is cumulative: the counts of `message_delta` replace those of
 * `message_start`. Every event has an `event:` line, since SDKs drop data without one.
 */

import { type Ask, countPrompt, type OfferedTool, type PromptCounter } from "./ask.ts";
import { errorBody, Refused } from "./errors.ts";
import { arrayOf, integerOf, type Json, type JsonObject, objectOf, objectsOf, stringOf } from "./json.ts";
import { checkMessages } from "./messages-rules.ts";
import { type Reply, replyTo } from "./reply.ts";
import { type Answer, type Call, idOf, json } from "./route.ts";
import { piecesOf, signatureOf, wordsOf } from "./text.ts";

/** Characters of a tool's input in one event. */
const INPUT_PIECE = 12;

const STOP = { end: "end_turn", length: "max_tokens", stop: "stop_sequence", call: "tool_use" } as const;

export function answerMessages(call: Call): Answer {
  const { body, model } = call;
  checkMessages(body, call.headers["anthropic-version"]);
  const reply = replyTo(readMessages(model, body), call.fault, call.memory);
  const showsThinking = objectOf(body["thinking"])?.["display"] !== "omitted";
  const tokens = { input: reply.usage.input, output: reply.usage.output };
  if (body["stream"] !== true) return json(wholeMessage(call, reply, showsThinking), tokens);
  return {
    kind: "events",
    frames: messageFrames(call, reply, showsThinking),
    failure: messagesFailureFrame(call.requestId),
    tokens,
  };
}

export function countMessageTokens(call: Call): Answer {
  const { prompt } = readMessages(call.model, call.body);
  return json(`{"input_tokens":${prompt.tokens}}`);
}

export function readMessages(model: string, body: JsonObject): Ask {
  const prompt = countPrompt();
  const tools = objectsOf(body["tools"]);
  if (tools.some((tool) => tool["cache_control"])) {
    prompt.text(JSON.stringify(tools));
    prompt.mark();
  }
  readBlocks(body["system"], prompt);
  let question = "";
  let toolAnswer: string | undefined;
  for (const message of objectsOf(body["messages"])) {
    const read = readBlocks(message["content"], prompt);
    if (message["role"] === "user" && read.toolAnswer === undefined) question = read.text;
    toolAnswer = message["role"] === "user" ? read.toolAnswer : undefined;
  }
  if (objectOf(body["cache_control"]) !== undefined) prompt.mark();
  const thinking = objectOf(body["thinking"])?.["type"];
  const format = objectOf(objectOf(body["output_config"])?.["format"] ?? body["output_format"]);
  return {
    model,
    question,
    toolAnswer,
    tool: offeredTool(body),
    answerSchema: format?.["type"] === "json_schema" ? (format["schema"] ?? {}) : undefined,
    isThinking: thinking === "enabled" || thinking === "adaptive",
    prompt: prompt.done(),
    maxTokens: integerOf(body["max_tokens"]),
    stops: (arrayOf(body["stop_sequences"]) ?? []).filter((each) => typeof each === "string"),
  };
}

interface Blocks {
  readonly text: string;
  /** Undefined when no block is the result of a tool. */
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

/** Tools that run at the client or at the provider have no schema to fill in and are never called. */
function offeredTool(body: JsonObject): OfferedTool | undefined {
  const choice = objectOf(body["tool_choice"]);
  if (choice?.["type"] === "none") return undefined;
  const wanted = choice?.["type"] === "tool" ? stringOf(choice["name"]) : undefined;
  const found = objectsOf(body["tools"]).find(
    (tool) => objectOf(tool["input_schema"]) !== undefined && (wanted === undefined || tool["name"] === wanted),
  );
  if (found !== undefined) return { name: stringOf(found["name"]) ?? "", parameters: found["input_schema"] };
  if (wanted !== undefined) throw new Refused(400, "tool_choice names a tool that is not among the tools.");
  return undefined;
}

function wholeMessage(call: Call, reply: Reply, showsThinking: boolean): string {
  const blocks: string[] = [];
  if (reply.thinking !== "") {
    const shown = JSON.stringify(showsThinking ? reply.thinking : "");
    blocks.push(`{"type":"thinking","thinking":${shown},"signature":"${signatureOf(reply.thinking)}"}`);
  }
  if (reply.text !== "") blocks.push(`{"type":"text","text":${JSON.stringify(reply.text)},"citations":null}`);
  if (reply.call !== undefined) blocks.push(toolUse(call.serial, reply.call.name, reply.call.input));
  return message(call, reply, blocks.join(","), stopOf(reply), reply.usage.output);
}

function* messageFrames(call: Call, reply: Reply, showsThinking: boolean): Generator<string> {
  const { usage, thinking, text, call: made } = reply;
  const unstopped = `"stop_reason":null,"stop_sequence":null`;
  yield frame("message_start", `"message":${message(call, reply, "", unstopped, usage.output === 0 ? 0 : 1)}`);
  let index = 0;
  if (thinking !== "") {
    yield start(index, `{"type":"thinking","thinking":"","signature":""}`);
    if (showsThinking) {
      for (const word of wordsOf(thinking)) yield delta(index, "thinking_delta", "thinking", word);
    }
    yield delta(index, "signature_delta", "signature", signatureOf(thinking));
    yield frame("content_block_stop", `"index":${index}`);
    index += 1;
  }
  yield frame("ping", "");
  if (text !== "") {
    yield start(index, `{"type":"text","text":"","citations":null}`);
    for (const word of wordsOf(text)) yield delta(index, "text_delta", "text", word);
    yield frame("content_block_stop", `"index":${index}`);
  }
  if (made !== undefined) {
    yield start(index, toolUse(call.serial, made.name, "{}"));
    yield delta(index, "input_json_delta", "partial_json", "");
    for (const piece of piecesOf(made.input, INPUT_PIECE))
      yield delta(index, "input_json_delta", "partial_json", piece);
    yield frame("content_block_stop", `"index":${index}`);
  }
  const stop = `{${stopOf(reply)},"stop_details":null,"container":null}`;
  yield frame("message_delta", `"delta":${stop},"usage":${messagesUsage(reply, usage.output)}`);
  yield frame("message_stop", "");
}

function message(call: Call, reply: Reply, content: string, stop: string, output: number): string {
  return (
    `{"id":"${idOf("msg_", call.serial)}","type":"message","role":"assistant","model":${JSON.stringify(call.model)},` +
    `"content":[${content}],${stop},"stop_details":null,"container":null,"usage":${messagesUsage(reply, output)}}`
  );
}

function stopOf(reply: Reply): string {
  return `"stop_reason":"${STOP[reply.finish]}","stop_sequence":${JSON.stringify(reply.stopSequence)}`;
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

/** `input` is JSON text. */
function toolUse(serial: number, name: string, input: string): string {
  return `{"type":"tool_use","id":"${idOf("toolu_", serial)}","name":${JSON.stringify(name)},"input":${input}}`;
}

/** `fields` are those beside the type. */
function frame(type: string, fields: string): string {
  return `event: ${type}\ndata: {"type":"${type}"${fields === "" ? "" : `,${fields}`}}\n\n`;
}

function start(index: number, block: string): string {
  return frame("content_block_start", `"index":${index},"content_block":${block}`);
}

function delta(index: number, type: string, key: string, text: string): string {
  return frame("content_block_delta", `"index":${index},"delta":{"type":"${type}","${key}":${JSON.stringify(text)}}`);
}

export function messagesFailureFrame(requestId: string): string {
  const message = "The simulated provider failed within the stream.";
  return `event: error\ndata: ${errorBody("messages", { status: 529, message, param: null, requestId })}\n\n`;
}
