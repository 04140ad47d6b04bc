/**
 * Summarizes a request in a form common to the dialects, so that a request and its translation can be compared:
 * `GET /sim/last` reports the summary of each request, and the model `sim-echo` answers with it.
 *
 * Texts are reported as word counts and media as their kinds: of a prompt, the summary quotes only names of tools.
 */

import { countWords } from "./answer-text.ts";
import { arrayOf, type Json, type JsonObject, objectOf, objectsOf, stringOf } from "./json-fields.ts";

interface Tally {
  systemWords: number;
  /** Roles of the turns, in order. Tool results are separate turns. */
  readonly turns: string[];
  readonly images: string[];
  readonly documents: string[];
  readonly audio: string[];
  /** Names of the calls, in order. */
  readonly calls: string[];
  /** Number of words of each result. */
  readonly results: number[];
  failedResults: number;
  thinkingBlocks: number;
  cacheMarks: number;
  textWords: number;
}

/** Returns the summary of a JSON-RPC request to an MCP server or an agent. */
export function summarizeRpcCall({ method, params }: JsonObject): JsonObject {
  const facts = objectOf(params) ?? {};
  const message = objectOf(facts["message"]);
  const kinds = objectsOf(message?.["parts"]).map((part) => PART_KINDS.find((kind) => kind in part) ?? "unknown");
  return {
    method: method ?? null,
    name: facts["name"] ?? facts["uri"] ?? facts["taskId"] ?? facts["id"] ?? null,
    arguments: Object.keys(objectOf(facts["arguments"]) ?? {}),
    role: message?.["role"] ?? null,
    parts: kinds,
  };
}

const PART_KINDS = ["text", "raw", "url", "data"];

export function summarizeChat(body: JsonObject): JsonObject {
  const tally = createTally();
  for (const message of objectsOf(body["messages"])) {
    const role = stringOf(message["role"]) ?? "";
    const isSystem = role === "system" || role === "developer";
    const words = readParts(message["content"], tally);
    if (isSystem) tally.systemWords += words;
    else tally.turns.push(role);
    if (role === "tool" || role === "function") tally.results.push(words);
    else if (!isSystem) tally.textWords += words;
    for (const call of objectsOf(message["tool_calls"])) {
      tally.calls.push(stringOf((objectOf(call["function"]) ?? objectOf(call["custom"]))?.["name"]) ?? "");
    }
    if (message["reasoning_content"] !== undefined) tally.thinkingBlocks += 1;
    tally.thinkingBlocks += objectsOf(message["reasoning_details"]).length;
  }
  const tools = objectsOf(body["tools"]).map((tool) => objectOf(tool["function"]) ?? objectOf(tool["custom"]) ?? {});
  return {
    ...summaryOf(tally),
    tools: [...tools, ...objectsOf(body["functions"])].map(({ name }) => name ?? null),
    strictTools: tools.filter(({ strict }) => strict === true).length,
    toolChoice: body["tool_choice"] ?? body["function_call"] ?? null,
    isParallel: body["parallel_tool_calls"] !== false,
    maxTokens: body["max_completion_tokens"] ?? body["max_tokens"] ?? null,
    temperature: body["temperature"] ?? null,
    topP: body["top_p"] ?? null,
    topK: body["top_k"] ?? null,
    stops: typeof body["stop"] === "string" ? 1 : (arrayOf(body["stop"])?.length ?? 0),
    effort: body["reasoning_effort"] ?? null,
    thinking: objectOf(body["thinking"])?.["type"] ?? null,
    format: objectOf(body["response_format"])?.["type"] ?? null,
    user: stringOf(body["safety_identifier"] ?? body["user"]) !== undefined,
    isStreamed: body["stream"] === true,
  };
}

/** Returns the number of words in the texts, and adds media and marks to `tally`. */
function readParts(content: Json | undefined, tally: Tally): number {
  if (typeof content === "string") return countWords(content);
  let words = 0;
  for (const part of objectsOf(content)) {
    words += countWords(stringOf(part["text"]) ?? stringOf(part["refusal"]) ?? "");
    const image = stringOf(objectOf(part["image_url"])?.["url"]);
    if (image !== undefined) tally.images.push(kindOf(image));
    const file = objectOf(part["file"]);
    if (file !== undefined)
      tally.documents.push(file["file_id"] === undefined ? kindOf(String(file["file_data"])) : "file");
    if (part["type"] === "input_audio") tally.audio.push(String(objectOf(part["input_audio"])?.["format"]));
    if (part["prompt_cache_breakpoint"] !== undefined || part["cache_control"] !== undefined) tally.cacheMarks += 1;
  }
  return words;
}

/** Returns the media type of a data URL, or `url` for other URLs. */
function kindOf(url: string): string {
  return /^data:([^;,]{1,64})/.exec(url)?.[1] ?? "url";
}

export function summarizeMessages(body: JsonObject): JsonObject {
  const tally = createTally();
  const { system } = body;
  tally.systemWords = readBlocks(system, tally);
  for (const message of objectsOf(body["messages"])) {
    const role = stringOf(message["role"]) ?? "";
    const before = tally.results.length;
    const words = readBlocks(message["content"], tally);
    for (let at = before; at < tally.results.length; at += 1) tally.turns.push("tool");
    const isOnlyResults = tally.results.length > before && words === 0 && areAllResults(message["content"]);
    if (role === "system") tally.systemWords += words;
    else if (!isOnlyResults) tally.turns.push(role);
    if (role !== "system") tally.textWords += words;
  }
  const tools = objectsOf(body["tools"]);
  tally.cacheMarks += tools.filter((tool) => objectOf(tool["cache_control"]) !== undefined).length;
  if (objectOf(body["cache_control"]) !== undefined) tally.cacheMarks += 1;
  const choice = objectOf(body["tool_choice"]);
  const output = objectOf(body["output_config"]);
  return {
    ...summaryOf(tally),
    tools: tools.map(({ name }) => name ?? null),
    strictTools: tools.filter(({ strict }) => strict === true).length,
    toolChoice: body["tool_choice"] ?? null,
    isParallel: choice?.["disable_parallel_tool_use"] !== true,
    maxTokens: body["max_tokens"] ?? null,
    temperature: body["temperature"] ?? null,
    topP: body["top_p"] ?? null,
    topK: body["top_k"] ?? null,
    stops: arrayOf(body["stop_sequences"])?.length ?? 0,
    effort: output?.["effort"] ?? null,
    thinking: objectOf(body["thinking"])?.["type"] ?? null,
    format: objectOf(output?.["format"] ?? body["output_format"])?.["type"] ?? null,
    user: stringOf(objectOf(body["metadata"])?.["user_id"]) !== undefined,
    isStreamed: body["stream"] === true,
  };
}

function areAllResults(content: Json | undefined): boolean {
  return objectsOf(content).every(({ type }) => type === "tool_result");
}

function readBlocks(content: Json | undefined, tally: Tally): number {
  if (typeof content === "string") return countWords(content);
  let words = 0;
  for (const block of objectsOf(content)) {
    const { type } = block;
    if (type === "text") words += countWords(stringOf(block["text"]) ?? "");
    else if (type === "image") tally.images.push(sourceKind(block));
    else if (type === "document") tally.documents.push(sourceKind(block));
    else if (type === "tool_use") tally.calls.push(stringOf(block["name"]) ?? "");
    else if (type === "thinking" || type === "redacted_thinking") tally.thinkingBlocks += 1;
    else if (type === "tool_result") {
      tally.results.push(readBlocks(block["content"], tally));
      if (block["is_error"] === true) tally.failedResults += 1;
    }
    if (objectOf(block["cache_control"]) !== undefined) tally.cacheMarks += 1;
  }
  return words;
}

function sourceKind(block: JsonObject): string {
  const source = objectOf(block["source"]);
  return stringOf(source?.["media_type"]) ?? stringOf(source?.["type"]) ?? "";
}

function createTally(): Tally {
  const lists = { turns: [], images: [], documents: [], audio: [], calls: [], results: [] };
  return { ...lists, systemWords: 0, failedResults: 0, thinkingBlocks: 0, cacheMarks: 0, textWords: 0 };
}

function summaryOf(tally: Tally): JsonObject {
  return { ...tally };
}
