/**
 * Translates the conversation of a `responses` request to turns of the messages dialect. Source: responses reference, 3.1 to
 * 3.3.
 */

import { isHttpsUrl } from "../../fidelity/dialect-forms.ts";
import { refuse } from "../required-members.ts";
import {
  type Block,
  type ContentBlock,
  type Scope,
  type TextBlock,
  type ToolResultBlock,
  type ToolUseBlock,
  type Turn,
  textBlock,
} from "../to-messages/block-types.ts";
import { markOf } from "../to-messages/cache-marks.ts";
import { fileDataSource, imageUrlSource, isBlank, isDocument } from "../to-messages/media-sources.ts";
import {
  add,
  append,
  beginCalls,
  type Conversation,
  type Draft,
  finishConversation,
  openDraft,
  turnOf,
} from "../to-messages/messages-draft.ts";
import { openToolIds, type ToolIds } from "../to-messages/tool-call-ids.ts";
import { inputOf } from "../to-messages/tool-calls.ts";
import type { SealedBlock } from "../types.ts";
import type {
  Call,
  ClientMessage,
  Content,
  FilePart,
  ItemConversation,
  Output,
  Part,
  Round,
} from "./item-conversation.ts";
import { endBeforeTrailingThoughts, type Thoughts } from "./replayed-reasoning.ts";

interface TurnDraft {
  readonly draft: Draft;
  readonly ids: ToolIds;
  readonly sentIds: Map<Call, string>;
  readonly thoughts: Thoughts;
  readonly scope: Scope;
}

export function conversationOf(
  { system, rounds, callIds }: ItemConversation,
  thoughts: Thoughts,
  scope: Scope,
): Conversation {
  const draft = openDraft();
  const writing: TurnDraft = { draft, ids: openToolIds(() => callIds), sentIds: new Map(), thoughts, scope };
  for (const content of system) append(draft.system, textsOf(content, scope));
  for (const [index, round] of rounds.entries()) addRound(round, index === rounds.length - 1, writing);
  const { turns, ...rest } =
    finishConversation(draft, scope) ?? refuse("input", "has no content that could be answered");
  return { ...rest, turns: turns.map(moveCallsLast) };
}

/** Moves the calls of a turn to its end. Several rounds form one turn if nothing between them can be sent. */
function moveCallsLast(turn: Turn): Turn {
  const { role, content } = turn;
  if (role !== "assistant" || typeof content === "string") return turn;
  const others = content.filter(({ type }) => type !== "tool_use");
  if (others.length === content.length) return turn;
  return { role, content: [...others, ...content.filter(({ type }) => type === "tool_use")] };
}

function addRound(round: Round, isLast: boolean, writing: TurnDraft): void {
  const { draft, scope } = writing;
  if (draft.turns.at(-1)?.role !== "assistant") {
    writing.ids.beginTurn();
    beginCalls(draft);
  }
  const answer = answerOf(round, writing);
  add(draft, "assistant", answer);
  for (const output of round.outputs) turnOf(draft, "user").results.push(resultOf(output, writing));
  // A system message at the end, after an answer, asks for another answer.
  const isClosing =
    isLast && answer.length > 0 && round.outputs.length === 0 && round.messages.every(({ role }) => role === "system");
  for (const message of round.messages) addMessage(isClosing ? { ...message, role: "user" } : message, draft, scope);
}

function addMessage({ role, content }: ClientMessage, draft: Draft, scope: Scope): void {
  if (role === "user") {
    const blocks = blocksOf(content, scope);
    add(draft, "user", blocks);
    if (blocks.length > 0 && typeof content !== "string") turnOf(draft, "user").isInParts = true;
    return;
  }
  const texts = textsOf(content, scope);
  if (draft.turns.length > 0 && scope.claims("mid_system")) add(draft, "system", texts);
  else append(draft.system, texts);
}

/** Returns the blocks in the order of the steps, but with calls last, since their results follow immediately. */
function answerOf({ steps }: Round, writing: TurnDraft): readonly Block[] {
  const { draft, ids, sentIds, thoughts, scope } = writing;
  const blocks: Block[] = [];
  const uses: ToolUseBlock[] = [];
  const end = endBeforeTrailingThoughts(steps);
  for (const [index, step] of steps.entries()) {
    switch (step.kind) {
      case "thought":
        if (index < end) append(blocks, thoughts.blocksOf(step).flatMap(thinkingOf));
        else thoughts.drop(step);
        break;
      case "text":
        if (!isBlank(step.text)) blocks.push(textBlock(step.text));
        break;
      case "call": {
        const id = ids.assignCallId(step.id);
        sentIds.set(step, id);
        draft.callOrder.set(id, draft.callOrder.size);
        uses.push({ type: "tool_use", id, name: step.name, input: inputFor(step, scope) });
        break;
      }
    }
  }
  append(blocks, uses);
  return blocks;
}

function inputFor({ isCustom, input }: Call, { exact }: Scope): unknown {
  return isCustom ? { input } : inputOf(input, "", exact);
}

function thinkingOf(block: SealedBlock): readonly Block[] {
  switch (block.k) {
    case "t":
      return [{ type: "thinking", thinking: block.x, signature: block.s }];
    case "r":
      return [{ type: "redacted_thinking", data: block.x }];
    default:
      return [];
  }
}

function resultOf({ call, id, content }: Output, { ids, sentIds, scope }: TurnDraft): ToolResultBlock {
  const tool_use_id = (call && sentIds.get(call)) ?? ids.takeResultId(id);
  if (typeof content === "string") return { type: "tool_result", tool_use_id, content };
  const isShown = scope.claims("tool_result_media");
  const blocks = blocksOf(content, scope).filter(({ type }) => isShown || type === "text");
  return { type: "tool_result", tool_use_id, content: blocks.length > 0 ? blocks : undefined };
}

function textsOf(content: Content, scope: Scope): readonly TextBlock[] {
  return blocksOf(content, scope).filter((block) => block.type === "text");
}

function blocksOf(content: Content, scope: Scope): readonly ContentBlock[] {
  if (typeof content === "string") return isBlank(content) ? [] : [textBlock(content)];
  return content.flatMap((part) => blockOf(part, scope) ?? []);
}

/** Returns the block, or `undefined` if the channel has no form for it; the guard has reported that loss. */
function blockOf(part: Part, scope: Scope): ContentBlock | undefined {
  const cache_control = markOf({ prompt_cache_breakpoint: part.marked }, scope);
  switch (part.kind) {
    case "text":
      return isBlank(part.text) ? undefined : textBlock(part.text, cache_control);
    case "image": {
      const source = imageUrlSource(part.url);
      if (source === undefined) return undefined;
      if (isDocument(source)) {
        return scope.claims("documents") ? { type: "document", source, title: undefined, cache_control } : undefined;
      }
      return scope.claims("vision") ? { type: "image", source, cache_control } : undefined;
    }
    case "file": {
      const source = sourceOf(part);
      if (source === undefined || !scope.claims("documents")) return undefined;
      return { type: "document", source, title: part.name, cache_control };
    }
    case "audio":
      return undefined;
  }
}

function sourceOf({ data, url }: FilePart) {
  if (data !== undefined) return fileDataSource(data);
  return url !== undefined && isHttpsUrl(url) ? { type: "url" as const, url } : undefined;
}
