/**
 * Collects the capabilities that the turns of a messages request use. Source: dialects reference, 5.1 and 7; what is dropped:
 * 8.4, 8.6.
 */
import { listOf, objectOf, type Values } from "../../json/json-values.ts";
import { isText } from "../dialect-forms.ts";
import { MESSAGES } from "../known-fields.ts";
import type { UseList } from "./use-list.ts";

export function readTurns(messages: readonly unknown[], uses: UseList): void {
  for (let index = 0; index < messages.length; index += 1) {
    const message = objectOf(messages[index]);
    if (message === undefined) continue;
    uses.enter("messages", index);
    uses.checkMembers(message, MESSAGES.message);
    const { role, content } = message;
    if (role === "user") readContent(content, true, uses);
    else if (role === "assistant") readContent(content, false, uses);
    else if (role === "system") {
      uses.add("mid_system");
      readTexts(content, uses);
    } else uses.lose("unknown_field", "role");
  }
  uses.leave();
  if (objectOf(messages.at(-1))?.role === "assistant") uses.add("prefill", `messages[${messages.length - 1}]`);
}

/** Reads the top-level system prompt. */
export function readSystem(value: unknown, uses: UseList): void {
  const blocks = listOf(value);
  for (let index = 0; index < blocks.length; index += 1) {
    const block = objectOf(blocks[index]);
    if (block === undefined) continue;
    uses.enter("system", index);
    readText(block, uses);
  }
  uses.leave();
}

/** Reads a system message among the turns. */
function readTexts(content: unknown, uses: UseList): void {
  const blocks = listOf(content);
  for (let index = 0; index < blocks.length; index += 1) {
    const block = objectOf(blocks[index]);
    if (block === undefined) continue;
    uses.enterPart("content", index);
    readText(block, uses);
  }
}

function readText(block: Values, uses: UseList, markLostAt?: string): void {
  if (block.type !== "text") {
    uses.lose("unknown_field", "type");
    return;
  }
  uses.checkMembers(block, MESSAGES.text);
  uses.addCacheMark(block.cache_control, "5m", markLostAt);
  if (listOf(block.citations).length > 0) uses.add("citation_replay");
}

/** Reads content. `takesMedia` is true if compat allows more than text in this place. */
function readContent(content: unknown, takesMedia: boolean, uses: UseList): void {
  if (typeof content === "string") return;
  const blocks = listOf(content);
  for (let index = 0; index < blocks.length; index += 1) {
    const block = objectOf(blocks[index]);
    if (block === undefined) continue;
    uses.enterPart("content", index);
    readBlock(block, takesMedia, uses);
  }
}

function readBlock(block: Values, takesMedia: boolean, uses: UseList): void {
  switch (block.type) {
    case "text":
      readText(block, uses);
      return;
    case "tool_use":
      readToolUse(block, uses);
      return;
    case "tool_result":
      readToolResult(block, uses);
      return;
    case "image":
      readImage(block, takesMedia, uses);
      return;
    case "document":
      readDocument(block, takesMedia, uses);
      return;
    case "search_result":
      uses.add("citations");
      return;
    case "thinking":
      uses.checkMembers(block, MESSAGES.thinkingBlock);
      if (isText(block.signature)) uses.add("thinking_replay");
      else if (isText(block.thinking)) uses.unsignedThinking ??= uses.place("thinking");
      return;
    case "redacted_thinking":
      uses.checkMembers(block, MESSAGES.redactedThinking);
      if (!isText(block.data)) return;
      uses.add("thinking_replay");
      uses.lose("hint", "data");
      return;
    default:
      readOther(block.type, block.name, uses);
  }
}

/** Reads blocks of tools that the provider runs, and of its context management. */
function readOther(type: unknown, name: unknown, uses: UseList): void {
  const isToolSearch = typeof name === "string" && name.startsWith("tool_search_tool_");
  if (type === "tool_reference" || type === "tool_search_tool_result") uses.add("tool_search");
  else if (type === "server_tool_use") uses.add(isToolSearch ? "tool_search" : "server_tools");
  else if (type === "compaction") uses.add("context_management");
  else if (type === "container_upload") {
    uses.add("server_tools");
    uses.add("file_refs");
  } else if (typeof type === "string" && (type.endsWith("_tool_result") || type.startsWith("mcp_tool_"))) {
    uses.add("server_tools");
  } else uses.lose("unknown_field", "type");
}

function readToolUse(block: Values, uses: UseList): void {
  uses.add("tools");
  uses.checkMembers(block, MESSAGES.toolUse);
  uses.addCacheMark(block.cache_control, "5m", "cache_control");
  const caller = objectOf(block.caller);
  if (caller !== undefined && caller.type !== "direct") uses.add("server_tools");
  if (isText(block.toolset_name)) uses.add("builtin_tools");
}

function readToolResult(block: Values, uses: UseList): void {
  uses.add("tools");
  uses.checkMembers(block, MESSAGES.toolResult);
  uses.addCacheMark(block.cache_control, "5m", "cache_control");
  if (block.is_error === true) uses.add("tool_errors");
  if (isText(block.toolset_name)) uses.add("builtin_tools");
  const blocks = listOf(block.content);
  for (let index = 0; index < blocks.length; index += 1) {
    const inner = objectOf(blocks[index]);
    if (inner === undefined) continue;
    uses.enterInner(index);
    readResultBlock(inner, uses);
  }
}

/**
 * Reads a block of a tool result. In compat, media of a tool result move into a user message and keep their form; texts are
 * joined into one.
 */
function readResultBlock(block: Values, uses: UseList): void {
  switch (block.type) {
    case "text":
      readText(block, uses, "cache_control");
      return;
    case "image":
      uses.add("tool_result_media");
      readImage(block, true, uses);
      return;
    case "document":
      uses.add("tool_result_media");
      readDocument(block, true, uses);
      return;
    case "search_result":
      uses.add("citations");
      return;
    case "browser_state":
      uses.add("builtin_tools");
      return;
    default:
      readOther(block.type, undefined, uses);
  }
}

function readImage(block: Values, takesMedia: boolean, uses: UseList): void {
  uses.add("vision");
  uses.checkMembers(block, MESSAGES.image);
  uses.addCacheMark(block.cache_control, "5m");
  if (objectOf(block.transformations) !== undefined) uses.lose("hint", "transformations");
  if (!takesMedia) uses.lose("vision", "source");
  const source = objectOf(block.source);
  if (source === undefined) return;
  uses.checkMembers(source, MESSAGES.source, "source");
  if (source.type === "file") uses.add("file_refs");
  else if (source.type !== "base64" && source.type !== "url") uses.lose("vision", "source.type");
}

function readDocument(block: Values, takesMedia: boolean, uses: UseList): void {
  uses.add("documents");
  uses.checkMembers(block, MESSAGES.document);
  uses.addCacheMark(block.cache_control, "5m");
  if (objectOf(block.citations)?.enabled === true) uses.add("citations");
  if (isText(block.context)) uses.lose("hint", "context");
  if (!takesMedia) uses.lose("documents", "source");
  const source = objectOf(block.source);
  if (source === undefined) return;
  uses.checkMembers(source, MESSAGES.source, "source");
  switch (source.type) {
    case "file":
      uses.add("file_refs");
      return;
    case "base64":
      if (source.media_type !== "application/pdf") uses.lose("documents", "source.media_type");
      return;
    case "text":
      if (isText(block.title)) uses.lose("hint", "title");
      return;
    case "content":
      readSourceContent(source.content, uses);
      uses.lose("documents", "source");
      return;
    default:
      uses.lose("documents", "source.type");
  }
}

/** Reads a document that consists of blocks. A channel must support its media, although no translation keeps it. */
function readSourceContent(content: unknown, uses: UseList): void {
  for (const item of listOf(content)) {
    const block = objectOf(item);
    if (block?.type !== "image") continue;
    uses.add("vision");
    if (objectOf(block.source)?.type === "file") uses.add("file_refs");
  }
}
