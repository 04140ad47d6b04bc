/**
 * Translates the messages of a compat request to the system prompt and the turns of the messages dialect. Source: dialects
 * reference, 8.3 and 5.1; 10.3 (9, 15, 18, 20, 24).
 */
import { objectOf, type Values } from "../../json/json-values.ts";
import { optionalText, refuse, requiredList, requiredName, requiredObject } from "../required-members.ts";
import { type Block, type Scope, type ToolResultBlock, textBlock } from "./block-types.ts";
import { isBlank } from "./media-sources.ts";
import {
  add,
  append,
  beginCalls,
  type Conversation,
  type Draft,
  finishConversation,
  openDraft,
  turnOf,
} from "./messages-draft.ts";
import { contentBlocks, textBlocks } from "./parts-to-blocks.ts";
import { signedThinking } from "./thinking-replay.ts";
import { idsIn, openToolIds, type ToolIds } from "./tool-call-ids.ts";
import { legacyId, toolName, toolUses } from "./tool-calls.ts";

interface ChatDraft extends Draft {
  readonly ids: ToolIds;
}

export function conversationOf(value: unknown, scope: Scope): Conversation {
  const messages = requiredList(value, "messages");
  const lastNonInstruction = messages.findLastIndex((item) => !isInstruction(item));
  const isAnswered = objectOf(messages[lastNonInstruction])?.["role"] === "assistant";
  const draft: ChatDraft = { ...openDraft(), ids: openToolIds(() => idsIn(messages)) };
  for (const [index, item] of messages.entries()) {
    const place = `messages[${index}]`;
    addMessage(draft, requiredObject(item, place), place, isAnswered && index > lastNonInstruction, scope);
  }
  return finishConversation(draft, scope) ?? refuse("messages", "have no content that could be answered");
}

function isInstruction(message: unknown): boolean {
  const role = objectOf(message)?.["role"];
  return role === "system" || role === "developer";
}

/** Adds a message. `isClosing` is true if the message follows an answer, and only instructions follow it. */
function addMessage(draft: ChatDraft, message: Values, place: string, isClosing: boolean, scope: Scope): void {
  switch (message["role"]) {
    case "system":
    case "developer":
      addInstruction(draft, message, place, isClosing, scope);
      break;
    case "user":
      add(draft, "user", contentBlocks(message["content"], `${place}.content`, scope));
      break;
    case "assistant":
      addAssistant(draft, message, place, scope);
      break;
    case "tool":
      addResult(draft, requiredName(message["tool_call_id"], `${place}.tool_call_id`), message, place, scope);
      break;
    case "function":
      addResult(draft, legacyId(toolName(message["name"], `${place}.name`)), message, place, scope);
      break;
    default:
      refuse(`${place}.role`, "must be a role of the dialect");
  }
}

function addInstruction(draft: ChatDraft, message: Values, place: string, isClosing: boolean, scope: Scope): void {
  const blocks = textBlocks(message["content"], `${place}.content`, scope);
  // An instruction at the end, after an answer, asks for another answer. Without a user's turn the last answer would be
  // continued.
  if (isClosing && draft.turns.length > 0) add(draft, "user", blocks);
  else if (draft.turns.length > 0 && scope.claims("mid_system")) add(draft, "system", blocks);
  else append(draft.system, blocks);
}

function addAssistant(draft: ChatDraft, message: Values, place: string, scope: Scope): void {
  if (draft.turns.at(-1)?.role !== "assistant") {
    draft.ids.beginTurn();
    beginCalls(draft);
  }
  const blocks: Block[] = [...textBlocks(message["content"], `${place}.content`, scope)];
  const refusal = optionalText(message["refusal"], `${place}.refusal`);
  if (refusal !== undefined && !isBlank(refusal)) blocks.push(textBlock(refusal));
  for (const use of toolUses(message, place, draft.ids, scope.exact)) {
    draft.callOrder.set(use.id, draft.callOrder.size);
    blocks.push(use);
  }
  // A message that only has thinking does not make a turn.
  if (blocks.length === 0) return;
  add(draft, "assistant", blocks);
  if (scope.claims("thinking_replay")) append(turnOf(draft, "assistant").thinking, signedThinking(message));
}

function addResult(draft: ChatDraft, callId: string, message: Values, place: string, scope: Scope): void {
  const { results } = turnOf(draft, "user");
  const { content } = message;
  results.push({
    type: "tool_result",
    tool_use_id: draft.ids.takeResultId(callId),
    content: typeof content === "string" ? content || undefined : resultBlocks(content, place, scope),
  });
}

function resultBlocks(content: unknown, place: string, scope: Scope): ToolResultBlock["content"] {
  const blocks = contentBlocks(content, `${place}.content`, scope);
  return blocks.length === 0 ? undefined : blocks;
}
