/**
 * What the messages dialect refuses, so that whoever translates into it learns of a mistake here and not at a real
 * provider: no `max_tokens`, empty text blocks, ids of other characters, tool results that do not come first, thinking
 * without its signature, and sampling parameters under the version that removed them.
 */

import { Refused } from "./errors.ts";
import { arrayOf, integerOf, type JsonObject, objectsOf, stringOf } from "./json.ts";

const ROLES = new Set(["user", "assistant", "system"]);

const TOOL_ID = /^[a-zA-Z0-9_-]+$/;

/** The version from which on sampling parameters are refused, even at their defaults. */
const VERSION_WITHOUT_SAMPLING = "2026-10-21";

export function checkMessages(body: JsonObject, version: string | readonly string[] | undefined): void {
  const maxTokens = integerOf(body["max_tokens"]);
  if (maxTokens === undefined || maxTokens < 0)
    throw new Refused(400, "max_tokens: a non-negative integer is required");
  if (version === VERSION_WITHOUT_SAMPLING) {
    const sampling = ["temperature", "top_p", "top_k"].find((name) => body[name] !== undefined);
    if (sampling !== undefined) {
      throw new Refused(400, `${sampling}: not supported with anthropic-version ${VERSION_WITHOUT_SAMPLING}`);
    }
  }
  const messages = objectsOf(body["messages"]);
  if (messages.length === 0 || messages.length !== arrayOf(body["messages"])?.length) {
    throw new Refused(400, "messages: at least one message is required");
  }
  checkTools(body);
  checkTurns(messages);
}

function checkTools(body: JsonObject): void {
  objectsOf(body["tools"]).forEach((tool, index) => {
    const name = stringOf(tool["name"]) ?? "";
    const isNamed = TOOL_ID.test(name) && name.length <= 128;
    if (!isNamed)
      throw new Refused(400, `tools.${index}.name: must match ${TOOL_ID.source} and have at most 128 characters`);
  });
}

function checkTurns(messages: readonly JsonObject[]): void {
  let open = new Set<string>();
  messages.forEach((message, index) => {
    const role = stringOf(message["role"]) ?? "";
    if (!ROLES.has(role)) throw new Refused(400, `messages.${index}.role: must be user, assistant or system`);
    const blocks = objectsOf(message["content"]);
    blocks.forEach((block, at) => {
      checkBlock(block, `messages.${index}.content.${at}`);
    });
    const leading = blocks.findIndex(({ type }) => type !== "tool_result");
    const results = leading < 0 ? blocks : blocks.slice(0, leading);
    for (const { tool_use_id: id } of results) {
      if (!open.delete(stringOf(id) ?? "")) {
        throw new Refused(400, `messages.${index}: unexpected tool_use_id found in tool_result blocks`);
      }
    }
    if (open.size > 0) {
      throw new Refused(400, `messages.${index}: tool_use ids were found without tool_result blocks immediately after`);
    }
    const uses = role === "assistant" ? blocks.filter(({ type }) => type === "tool_use") : [];
    open = new Set(uses.map(({ id }) => stringOf(id) ?? ""));
  });
}

function checkBlock(block: JsonObject, at: string): void {
  const { type } = block;
  if (type === "text" && (stringOf(block["text"]) ?? "") === "") {
    throw new Refused(400, `${at}: text content blocks must be non-empty`);
  }
  if (type === "tool_use" && !TOOL_ID.test(stringOf(block["id"]) ?? "")) {
    throw new Refused(400, `${at}.tool_use.id: must match ${TOOL_ID.source}`);
  }
  if (type === "tool_result" && !TOOL_ID.test(stringOf(block["tool_use_id"]) ?? "")) {
    throw new Refused(400, `${at}.tool_result.tool_use_id: must match ${TOOL_ID.source}`);
  }
  if (type === "thinking" && (stringOf(block["signature"]) ?? "") === "") {
    throw new Refused(400, `${at}.thinking.signature: invalid signature in thinking block`);
  }
}
