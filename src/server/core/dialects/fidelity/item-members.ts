/**
 * Decides whether an unknown member may contain content that the model should read. Source: members that clients add to the
 * items of a response's input for their own use (Codex: `internal_chat_message_metadata_passthrough`).
 */
import type { Values } from "../json/json-values.ts";

/** Names of members that contain content in any dialect, whatever object they are in. */
const CONTENT_NAMES: ReadonlySet<string> = new Set([
  "content",
  "contents",
  "parts",
  "text",
  "texts",
  "input",
  "output",
  "outputs",
  "result",
  "results",
  "arguments",
  "summary",
  "refusal",
  "reasoning",
  "reasoning_content",
  "reasoning_details",
  "thinking",
  "thought",
  "instructions",
  "prompt",
  "message",
  "messages",
  "body",
  "data",
  "image",
  "images",
  "image_url",
  "input_audio",
  "audio",
  "video",
  "video_url",
  "document",
  "documents",
  "file",
  "files",
  "file_id",
  "file_data",
  "file_url",
  "attachment",
  "attachments",
  "source",
  "url",
  "encrypted_content",
  "tools",
  "tool_calls",
  "function_call",
  "code",
]);

/** Maximum length of a string that is not content: ids, states, times and paths of a workspace are shorter. */
const MAX_TEXT_LENGTH = 1_024;
/** Maximum depth of metadata, which are flat and few; anything larger counts as content. */
const MAX_DEPTH = 4;
const MAX_VALUES = 64;

export function mayHoldContent(name: string, value: unknown): boolean {
  let remainingValues = MAX_VALUES;
  const hasContent = (under: string, it: unknown, depth: number): boolean => {
    remainingValues -= 1;
    if (remainingValues < 0 || depth > MAX_DEPTH) return true;
    if (typeof it === "string") return it.length > MAX_TEXT_LENGTH || (it !== "" && CONTENT_NAMES.has(under));
    if (typeof it !== "object" || it === null) return false;
    if (CONTENT_NAMES.has(under)) return !isEmpty(it);
    if (Array.isArray(it)) return it.some((one) => hasContent("", one, depth + 1));
    return Object.entries(it as Values).some(([key, one]) => hasContent(key.toLowerCase(), one, depth + 1));
  };
  return hasContent(name.toLowerCase(), value, 0);
}

const isEmpty = (it: object): boolean => (Array.isArray(it) ? it.length === 0 : Object.keys(it).length === 0);
