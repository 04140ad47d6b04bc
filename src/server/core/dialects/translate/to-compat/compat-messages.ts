/**
 * Translates the system prompt and the turns of a messages request to compat messages. Source: dialects reference, 8.2 and
 * 8.4.
 *
 * Consecutive turns of one role count as one: the results for one turn's calls may come in several messages, and nothing may
 * be between them.
 */
import type { Values } from "../../json/json-values.ts";
import { isAbsent, refuse, requiredList, requiredObject } from "../required-members.ts";
import { openAssistantTurn } from "./assistant-turn.ts";
import { textParts } from "./blocks-to-parts.ts";
import type { ChatMessage, Scope, Turn } from "./chat.ts";
import { openUserTurn } from "./user-turn.ts";

export function translateTurns(request: Values, scope: Scope): readonly ChatMessage[] {
  const turns = translateMessages(requiredList(request["messages"], "messages"), scope);
  if (turns.length === 0) refuse("messages", "has no content to send");
  const { system } = request;
  return isAbsent(system) ? turns : [...systemMessage(system, "system", scope), ...turns];
}

function translateMessages(messages: readonly unknown[], scope: Scope): readonly ChatMessage[] {
  const translated: ChatMessage[] = [];
  let turn: Turn | undefined;

  function endTurn(): void {
    for (const message of turn?.messages() ?? []) translated.push(message);
    turn = undefined;
  }

  for (const [index, item] of messages.entries()) {
    const place = `messages[${index}]`;
    const { role, content } = requiredObject(item, place);
    if (role === "system") {
      endTurn();
      translated.push(...systemMessage(content, `${place}.content`, scope));
      continue;
    }
    if (role !== "user" && role !== "assistant") refuse(`${place}.role`, "must be user, assistant or system");
    if (turn?.role !== role) {
      endTurn();
      turn = role === "user" ? openUserTurn(scope) : openAssistantTurn(scope);
    }
    turn.add(content, `${place}.content`);
  }
  // A provider without prefill would read an unfinished answer as a complete turn.
  if (turn?.role !== "assistant" || scope.claims("prefill")) endTurn();
  return translated;
}

/** Returns the system message; empty without text. Blocks stay separate, since a cache mark belongs to one of them. */
function systemMessage(content: unknown, place: string, scope: Scope): readonly ChatMessage[] {
  const texts = typeof content === "string" ? content : textParts(content, place, scope);
  return texts.length === 0 ? [] : [{ role: "system", content: texts }];
}
