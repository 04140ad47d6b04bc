/**
 * Translates an assistant's turn to one compat message: texts are joined, calls keep their order. Source: dialects reference,
 * 8.4.
 *
 * Thinking is sent only to a provider that claims to accept it; no provider requires it.
 */
import { jsonText } from "../../json/json-source.ts";
import type { Values } from "../../json/json-values.ts";
import {
  isAbsent,
  optionalText,
  refuse,
  requiredList,
  requiredName,
  requiredObject,
  requiredText,
} from "../required-members.ts";
import { textPart, textPartOf, typeOf } from "./blocks-to-parts.ts";
import { markedCalls } from "./call-signature.ts";
import type { ChatMessage, Scope, TextPart, Turn } from "./chat.ts";

export function openAssistantTurn(scope: Scope): Turn {
  const texts: TextPart[] = [];
  const calls: object[] = [];
  const reasoning: object[] = [];
  let thought = "";

  function add(content: unknown, place: string): void {
    if (typeof content === "string") {
      addText(textPartOf(content));
      return;
    }
    for (const [index, item] of requiredList(content, place).entries()) {
      const at = `${place}[${index}]`;
      addBlock(requiredObject(item, at), at);
    }
  }

  function addBlock(block: Values, place: string): void {
    switch (typeOf(block, place)) {
      case "text":
        addText(textPart(block, place, scope));
        break;
      case "tool_use":
        addCall(block, place);
        break;
      case "tool_result":
        refuse(place, "a tool result is only allowed in user turns");
        break;
      case "thinking":
        addThinking(block, place);
        break;
    }
  }

  function addText(part: TextPart | undefined): void {
    if (part !== undefined) texts.push(part);
  }

  function addCall(block: Values, place: string): void {
    const id = requiredName(block["id"], `${place}.id`);
    const name = scope.names.nameToSend(requiredName(block["name"], `${place}.name`));
    const input = isAbsent(block["input"]) ? {} : requiredObject(block["input"], `${place}.input`);
    if (!scope.claims("tools")) return;
    calls.push({ id, type: "function", function: { name, arguments: jsonText(scope.source.exact(input)) } });
  }

  function addThinking(block: Values, place: string): void {
    const text = requiredText(block["thinking"], `${place}.thinking`);
    const signature = optionalText(block["signature"], `${place}.signature`);
    if (!scope.claims("thinking_replay")) return;
    thought += text;
    if (signature) reasoning.push({ type: "reasoning.text", text, signature, index: reasoning.length });
  }

  function messages(): readonly ChatMessage[] {
    const hasThought = thought !== "" || reasoning.length > 0;
    if (texts.length === 0 && calls.length === 0 && !hasThought) return [];
    return [
      {
        role: "assistant",
        // `null` is only allowed if there are calls.
        content: contentOf(texts) ?? (calls.length > 0 ? null : ""),
        reasoning_content: thought || undefined,
        reasoning_details: reasoning.length > 0 ? reasoning : undefined,
        tool_calls: calls.length > 0 ? markedCalls(calls, scope) : undefined,
      },
    ];
  }

  return { role: "assistant", add, messages };
}

/**
 * Returns the content, or `undefined` if there is no text. Parts stay separate only if one of them has a mark, which a plain
 * text cannot have.
 */
function contentOf(texts: readonly TextPart[]): ChatMessage["content"] | undefined {
  if (texts.length === 0) return undefined;
  const isMarked = texts.some(({ prompt_cache_breakpoint }) => prompt_cache_breakpoint !== undefined);
  return isMarked ? texts : texts.map(({ text }) => text).join("");
}
