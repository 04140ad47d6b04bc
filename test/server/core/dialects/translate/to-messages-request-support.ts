/**
 * Golden cases of requests from the compat dialect to messages, and the rules of a strict messages provider for the
 * shape of any request. Source: dialects reference, 5.1.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { defaultClaims } from "../../../../../src/server/core/dialects/fidelity/capabilities.ts";
import { readJson } from "../../../../../src/server/core/dialects/json/json-source.ts";
import {
  listOf,
  numberOf,
  objectOf,
  stringOf,
  type Values,
} from "../../../../../src/server/core/dialects/json/json-values.ts";
import { chatToMessages } from "../../../../../src/server/core/dialects/translate/to-messages/request.ts";
import type { ChannelTerms, TranslatedRequest } from "../../../../../src/server/core/dialects/translate/types.ts";

/** The channel claims everything in its dialect except what it `lacks`. */
interface GivenChannel {
  readonly lacks?: readonly string[];
}

interface Golden {
  /** Title of the reference row that it covers, and the bug number if it covers one. */
  readonly row: string;
  readonly channel?: GivenChannel;
  readonly given: Values;
  readonly expect: Values;
  /** Expected facts about the answer, if they matter. */
  readonly answer?: Values;
}

const FOLDER = new URL("golden/to-messages-request/", import.meta.url);

export const GOLDENS: readonly (readonly [file: string, cases: readonly Golden[]])[] = readdirSync(FOLDER)
  .sort()
  .map((file) => [file, JSON.parse(readFileSync(new URL(file, FOLDER), "utf8")) as readonly Golden[]]);

export const MODEL = { sent: "sent-model", requested: "asked-model" };

const CLAIMABLE = defaultClaims("messages");

function channelTerms({ lacks = [] }: GivenChannel = {}): ChannelTerms {
  return {
    claims: (capability) => CLAIMABLE.has(capability) && !lacks.includes(capability),
    endUserField: "user",
    acceptsStreamUsage: true,
  };
}

export function translateText(text: string, channel?: GivenChannel): TranslatedRequest {
  return chatToMessages(readJson(text), MODEL, channelTerms(channel));
}

export function translate(
  request: unknown,
  channel?: GivenChannel,
): { body: Values; answer: TranslatedRequest["answer"] } {
  const { body, answer } = translateText(JSON.stringify(request), channel);
  return { body: JSON.parse(body) as Values, answer };
}

/**
 * Throws on anything that a strict provider refuses in any request. Calls without results are the client's own error:
 * `isAnswered`.
 */
export function assertIsMessages(body: Values): void {
  const maxTokens = numberOf(body["max_tokens"]) ?? assert.fail("max_tokens is missing");
  assert.ok(Number.isSafeInteger(maxTokens) && maxTokens >= 1, "max_tokens is a whole number above nought");
  const turns = listOf(body["messages"]).map((turn) => objectOf(turn) ?? assert.fail("a turn is no object"));
  assert.ok(turns.length > 0, "there are turns");
  for (const [index, turn] of turns.entries()) {
    assert.notEqual(turn["role"], turns[index - 1]?.["role"], "roles alternate");
    assertIsTurn(turn);
  }
  if (body["system"] !== undefined) for (const block of contentOf(body["system"])) assertIsBlock(block, ["text"]);
  assertIsPrefill(turns.at(-1) ?? {});
  assertAreTools(body);
  assertIsThinking(body, turns, maxTokens);
  assertIsNarrow(objectOf(objectOf(body["output_config"])?.["format"])?.["schema"]);
  const marks = JSON.stringify([body["system"], body["messages"], body["tools"]]).match(/"cache_control":\{"type"/g);
  assert.ok((marks ?? []).length <= 4, "at most four marks for the cache");
  const temperature = numberOf(body["temperature"]) ?? 0;
  assert.ok(temperature <= 1, "a temperature is one at most");
  for (const sequence of listOf(body["stop_sequences"])) assert.match(String(sequence), /\S/);
}

/** Whether the calls of each turn are answered in the next, each once, and no others. */
export function isAnswered(body: Values): boolean {
  let calls: readonly unknown[] = [];
  for (const turn of listOf(body["messages"])) {
    const content = listOf(objectOf(turn)?.["content"]).map((block) => objectOf(block) ?? {});
    const results = content.filter(({ type }) => type === "tool_result").map(({ tool_use_id }) => tool_use_id);
    if (results.length !== calls.length || results.some((id, index) => id !== calls[index])) return false;
    calls = content.filter(({ type }) => type === "tool_use").map(({ id }) => id);
  }
  return calls.length === 0;
}

const BLOCKS = new Map([
  ["user", ["tool_result", "text", "image", "document"]],
  ["assistant", ["thinking", "redacted_thinking", "text", "tool_use"]],
  ["system", ["text"]],
]);

/** Blocks that must come first in a turn. */
const LEADING = new Set(["tool_result", "thinking", "redacted_thinking"]);

const ID = /^[A-Za-z0-9_-]+$/;
const NAME = /^[A-Za-z0-9_-]{1,128}$/;

function contentOf(content: unknown): readonly Values[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  assert.ok(listOf(content).length > 0, "content is not empty");
  return listOf(content).map((block) => objectOf(block) ?? assert.fail("a block is no object"));
}

function assertIsTurn(turn: Values): void {
  assert.deepEqual(Object.keys(turn).sort(), ["content", "role"]);
  const allowed = BLOCKS.get(stringOf(turn["role"]) ?? "") ?? assert.fail(`role ${String(turn["role"])}`);
  let hasOthers = false;
  for (const block of contentOf(turn["content"])) {
    assertIsBlock(block, allowed);
    const isLeading = LEADING.has(String(block["type"]));
    assert.ok(!(isLeading && hasOthers), `${String(block["type"])} comes first`);
    hasOthers ||= !isLeading;
  }
}

function assertIsBlock(block: Values, allowed: readonly string[]): void {
  const type = stringOf(block["type"]) ?? "";
  assert.ok(allowed.includes(type), `block ${type}`);
  if (type === "text") assert.match(stringOf(block["text"]) ?? "", /\S/, "a text is not blank");
  if (type === "tool_use") {
    assert.match(stringOf(block["id"]) ?? "", ID);
    assert.match(stringOf(block["name"]) ?? "", NAME);
    assert.ok(objectOf(block["input"]), "an input is an object");
  }
  if (type === "tool_result") {
    assert.match(stringOf(block["tool_use_id"]) ?? "", ID);
    const { content } = block;
    if (typeof content === "string") assert.notEqual(content, "");
    else if (content !== undefined)
      for (const part of contentOf(content)) assertIsBlock(part, ["text", "image", "document"]);
  }
  if (type === "thinking") assert.ok(stringOf(block["signature"]), "thinking is signed");
  if (type === "redacted_thinking") assert.ok(stringOf(block["data"]));
  if (type === "image" || type === "document") assertIsSource(objectOf(block["source"]) ?? {}, type);
}

function assertIsSource({ type, media_type, data, url }: Values, of: "image" | "document"): void {
  if (type === "url") {
    assert.match(String(url), /^https:/i);
    return;
  }
  assert.equal(typeof data, "string");
  const pattern = of === "image" ? /^image\/(?:jpeg|png|gif|webp)$/ : /^(?:application\/pdf|text\/plain)$/;
  assert.match(String(media_type), pattern);
  if (type === "base64") assert.doesNotMatch(String(data), /\s/);
}

function assertIsPrefill(last: Values): void {
  const block = contentOf(last["content"]).at(-1);
  if (last["role"] === "assistant" && block?.["type"] === "text") assert.match(String(block["text"]), /\S$/);
}

function assertAreTools({ tools, tool_choice }: Values): void {
  if (tools === undefined) {
    assert.equal(tool_choice, undefined, "a choice without tools");
    return;
  }
  assert.ok(listOf(tools).length > 0, "tools are left out where there are none");
  const names = listOf(tools).map((tool) => String(objectOf(tool)?.["name"]));
  for (const name of names) assert.match(name, NAME);
  for (const tool of listOf(tools)) {
    const { type, input_schema } = objectOf(tool) ?? {};
    if (type === undefined) assert.ok("type" in (objectOf(input_schema) ?? {}), "a schema names its type");
  }
  const choice = objectOf(tool_choice);
  if (choice?.["type"] === "tool") assert.ok(names.includes(String(choice["name"])), "the tool that is chosen exists");
  if (choice?.["type"] === "none") assert.ok(!("disable_parallel_tool_use" in choice));
}

function assertIsThinking(body: Values, turns: readonly Values[], maxTokens: number): void {
  const thinking = objectOf(body["thinking"]);
  if (thinking === undefined || thinking["type"] === "disabled") return;
  assert.ok((numberOf(body["temperature"]) ?? 1) === 1, "no other temperature beside thinking");
  assert.ok((numberOf(body["top_p"]) ?? 1) >= 0.95, "no narrower top_p beside thinking");
  assert.ok(!("top_k" in body), "no top_k beside thinking");
  // A model that decides by itself may omit thinking.
  if (thinking["type"] !== "enabled") return;
  const budget = numberOf(thinking["budget_tokens"]) ?? 0;
  assert.ok(budget >= 1024 && budget < maxTokens, "a budget of at least 1024, below max_tokens");
  const choice = objectOf(body["tool_choice"])?.["type"];
  assert.ok(choice !== "any" && choice !== "tool", "no budget beside a forced choice");
  const latest = turns.findLast(({ role }) => role === "assistant");
  const blocks = latest === undefined ? [] : contentOf(latest["content"]);
  const isDemanded = turns.at(-1) === latest || blocks.some(({ type }) => type === "tool_use");
  if (latest !== undefined && isDemanded) assert.ok(LEADING.has(String(blocks[0]?.["type"])), "thinking comes first");
}

/** Schema members that hold schemas by name, and those that hold one or a list of them. */
const NAMED_SCHEMAS = ["properties", "$defs", "definitions"];
const NESTED_SCHEMAS = ["items", "anyOf", "oneOf", "allOf"];

/** Structured output has no objects with additional properties. */
function assertIsNarrow(schema: unknown): void {
  const node = objectOf(schema);
  if (node === undefined) return;
  if (node["type"] === "object" || objectOf(node["properties"])) {
    assert.equal(node["additionalProperties"], false, "an object of an answer's schema has no other properties");
  }
  for (const name of NAMED_SCHEMAS) for (const part of Object.values(objectOf(node[name]) ?? {})) assertIsNarrow(part);
  for (const name of NESTED_SCHEMAS) for (const part of [node[name], ...listOf(node[name])]) assertIsNarrow(part);
}
