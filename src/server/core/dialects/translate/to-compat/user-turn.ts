/**
 * Translates a user's turn to compat messages. Source: dialects reference, 8.4.
 *
 * Every call needs its result before the next message of another role. So tool results come first, wherever they were in the
 * turn, and one user message follows with the rest. A tool message has text only: media of a result move to the start of that
 * user message, and a text in the result refers to them.
 */
import type { Values } from "../../json/json-values.ts";
import { isAbsent, optionalFlag, refuse, requiredList, requiredName, requiredObject } from "../required-members.ts";
import { partOf, textPartOf } from "./blocks-to-parts.ts";
import type { ChatMessage, Part, Scope, TextPart, Turn } from "./chat.ts";

/** Placeholder for an empty result, which some providers refuse. */
const NO_OUTPUT = "(no output)";
const ERROR_PREFIX = "Error: ";

export function openUserTurn(scope: Scope): Turn {
  const results: ChatMessage[] = [];
  const media: Part[] = [];
  const rest: (string | Part)[] = [];
  const counts = { image: 0, document: 0 };

  function add(content: unknown, place: string): void {
    if (typeof content === "string") {
      if (content !== "") rest.push(content);
      return;
    }
    for (const [index, item] of requiredList(content, place).entries()) {
      const at = `${place}[${index}]`;
      const block = requiredObject(item, at);
      if (block["type"] === "tool_result") addResult(block, at);
      else addOther(block, at);
    }
  }

  function addOther(block: Values, place: string): void {
    if (block["type"] === "tool_use") refuse(place, "a tool call is only allowed in assistant turns");
    const part = partOf(block, place, scope);
    if (part !== undefined) rest.push(part);
  }

  function addResult(block: Values, place: string): void {
    const id = requiredName(block["tool_use_id"], `${place}.tool_use_id`);
    if (!scope.claims("tools")) return;
    const text = resultText(block["content"], `${place}.content`) || NO_OUTPUT;
    const content = optionalFlag(block["is_error"], `${place}.is_error`) ? ERROR_PREFIX + text : text;
    results.push({ role: "tool", tool_call_id: id, content });
  }

  function resultText(content: unknown, place: string): string {
    if (isAbsent(content)) return "";
    if (typeof content === "string") return content;
    const lines: string[] = [];
    for (const [index, item] of requiredList(content, place).entries()) {
      const at = `${place}[${index}]`;
      const part = partOf(requiredObject(item, at), at, scope);
      if (part !== undefined) lines.push(part.type === "text" ? part.text : moveMedia(part));
    }
    return lines.join("\n");
  }

  function moveMedia(part: Exclude<Part, TextPart>): string {
    media.push(part);
    const kind = part.type === "image_url" ? "image" : "document";
    return `[${kind} ${++counts[kind]} below]`;
  }

  function messages(): readonly ChatMessage[] {
    const content = contentOf([...media, ...rest]);
    return content === undefined ? results : [...results, { role: "user", content }];
  }

  return { role: "user", add, messages };
}

/** Returns the content, or `undefined` if it is empty. A single text that was given as a string stays a string. */
function contentOf(items: readonly (string | Part)[]): ChatMessage["content"] | undefined {
  const [first] = items;
  if (first === undefined || (items.length === 1 && typeof first === "string")) return first;
  return items.flatMap((item) => (typeof item === "string" ? (textPartOf(item) ?? []) : item));
}
