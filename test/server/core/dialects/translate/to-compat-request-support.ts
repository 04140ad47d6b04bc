/**
 * Golden cases of requests from the messages dialect to compat, and the rules of a strict compat provider for the shape
 * of any request. Source: dialects reference, 3.1.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { defaultClaims } from "../../../../../src/server/core/dialects/fidelity/capabilities.ts";
import { readJson } from "../../../../../src/server/core/dialects/json/json-source.ts";
import { listOf, objectOf, stringOf, type Values } from "../../../../../src/server/core/dialects/json/json-values.ts";
import { messagesToChat } from "../../../../../src/server/core/dialects/translate/to-compat/request.ts";
import type { ChannelTerms, TranslatedRequest } from "../../../../../src/server/core/dialects/translate/types.ts";

/** The channel claims everything in its dialect except what it `lacks`. */
interface GivenChannel {
  readonly lacks?: readonly string[];
  readonly endUserField?: ChannelTerms["endUserField"];
  readonly acceptsStreamUsage?: boolean;
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

const FOLDER = new URL("golden/to-compat-request/", import.meta.url);

export const GOLDENS: readonly (readonly [file: string, cases: readonly Golden[]])[] = readdirSync(FOLDER)
  .sort()
  .map((file) => [file, JSON.parse(readFileSync(new URL(file, FOLDER), "utf8")) as readonly Golden[]]);

const MODEL = { sent: "sent-model", requested: "asked-model" };

const CLAIMABLE = defaultClaims("compat");

function channelTerms({ lacks = [], endUserField = "user", acceptsStreamUsage = true }: GivenChannel = {}) {
  const claims: ChannelTerms["claims"] = (capability) => CLAIMABLE.has(capability) && !lacks.includes(capability);
  return { claims, endUserField, acceptsStreamUsage };
}

export function translateText(text: string, channel?: GivenChannel): TranslatedRequest {
  return messagesToChat(readJson(text), MODEL, channelTerms(channel));
}

export function translate(
  request: unknown,
  channel?: GivenChannel,
): { body: Values; answer: TranslatedRequest["answer"] } {
  const { body, answer } = translateText(JSON.stringify(request), channel);
  return { body: JSON.parse(body) as Values, answer };
}

/** Throws on anything that a strict provider refuses by its shape alone. */
export function assertIsChat(body: Values): void {
  const messages = listOf(body["messages"]).map(
    (message) => objectOf(message) ?? assert.fail("a message is no object"),
  );
  assert.ok(messages.length > 0, "there are messages");
  for (const message of messages) assertIsMessage(message);
  const tools = listOf(body["tools"]);
  for (const tool of tools) assertIsTool(objectOf(tool) ?? {});
  const output = objectOf(objectOf(body["response_format"])?.["json_schema"]);
  if (output?.["strict"] === true) assertIsClosed(output["schema"]);
  if (tools.length === 0) {
    for (const name of ["tools", "tool_choice", "parallel_tool_calls"])
      assert.ok(!(name in body), `${name} without tools`);
  }
  if (body["stream"] !== true) assert.ok(!("stream_options" in body), "stream options without a stream");
  const marks = messages.flatMap(({ content }) =>
    listOf(content).filter((part) => objectOf(part)?.["prompt_cache_breakpoint"]),
  );
  const isImplicit = objectOf(body["prompt_cache_options"])?.["mode"] === "implicit";
  assert.ok(marks.length <= (isImplicit ? 3 : 4), `${marks.length} marks for the cache`);
}

/** Whether each call is answered, and each answer has a call, before the next other message. */
export function isAnswered(body: Values): boolean {
  const open = new Set<unknown>();
  for (const message of listOf(body["messages"])) {
    const { role, tool_call_id, tool_calls } = objectOf(message) ?? {};
    if (role === "tool") {
      if (!open.delete(tool_call_id)) return false;
      continue;
    }
    if (open.size > 0) return false;
    for (const call of listOf(tool_calls)) open.add(objectOf(call)?.["id"]);
  }
  return open.size === 0;
}

const PARTS = new Map([
  ["system", ["text"]],
  ["user", ["text", "image_url", "file"]],
  ["assistant", ["text"]],
  ["tool", []],
]);

function assertIsMessage(message: Values): void {
  const { role, content, tool_calls, tool_call_id } = message;
  const parts = PARTS.get(stringOf(role) ?? "") ?? assert.fail(`role ${String(role)}`);
  if (content === null) assert.ok(listOf(tool_calls).length > 0, "null is for calls only");
  else if (typeof content !== "string") {
    assert.ok(listOf(content).length > 0, "content is not empty");
    for (const part of listOf(content)) assertIsPart(objectOf(part) ?? {}, parts);
  } else if (role !== "assistant") assert.notEqual(content, "", "content is not empty");
  assert.equal(tool_call_id !== undefined, role === "tool", "an answer names its call");
  if (tool_calls !== undefined) {
    assert.equal(role, "assistant");
    assert.ok(listOf(tool_calls).length > 0, "calls are left out where there are none");
  }
  for (const call of listOf(tool_calls)) assertIsCall(objectOf(call) ?? {});
}

function assertIsPart(part: Values, allowed: readonly string[]): void {
  const type = stringOf(part["type"]) ?? "";
  assert.ok(allowed.includes(type), `part ${type}`);
  if (type === "text") assert.ok(stringOf(part["text"]), "a text is not empty");
  if (type === "image_url") assert.ok(stringOf(objectOf(part["image_url"])?.["url"]) !== undefined);
  if (type === "file") assert.match(stringOf(objectOf(part["file"])?.["file_data"]) ?? "", /^data:.*;base64,/s);
}

function assertIsCall({ id, type, ...call }: Values): void {
  assert.ok(stringOf(id));
  assert.equal(type, "function");
  const { name, arguments: text } = objectOf(call["function"]) ?? {};
  assertIsName(name);
  assert.ok(objectOf(JSON.parse(stringOf(text) ?? "")), "arguments are an object");
}

function assertIsTool(tool: Values): void {
  assert.equal(tool["type"], "function");
  const { name, parameters, strict } = objectOf(tool["function"]) ?? {};
  assertIsName(name);
  const schema = objectOf(parameters);
  if (schema?.["type"] === "object") assert.ok(objectOf(schema["properties"]), "an object names its properties");
  if (strict === true) assertIsClosed(parameters);
}

/** Schema members that hold schemas by name, and those that hold one or a list of them. */
const NAMED_SCHEMAS = ["properties", "$defs", "definitions"];
const NESTED_SCHEMAS = ["items", "anyOf", "oneOf", "allOf"];

/** Strict mode requires every object to list all its properties as required, and to allow no others. */
function assertIsClosed(schema: unknown): void {
  const nodes = [schema];
  while (nodes.length > 0) {
    const node = objectOf(nodes.pop());
    if (node === undefined) continue;
    const properties = objectOf(node["properties"]);
    if (node["type"] === "object" || properties !== undefined) {
      assert.equal(node["additionalProperties"], false, "a strict object has no other properties");
      const required = listOf(node["required"]);
      for (const name of Object.keys(properties ?? {})) assert.ok(required.includes(name), "a property is required");
    }
    for (const name of NAMED_SCHEMAS) nodes.push(...Object.values(objectOf(node[name]) ?? {}));
    for (const name of NESTED_SCHEMAS) nodes.push(node[name], ...listOf(node[name]));
  }
}

function assertIsName(name: unknown): void {
  assert.ok(stringOf(name));
  assert.ok(String(name).length <= 64, "a name of at most 64 characters");
}
