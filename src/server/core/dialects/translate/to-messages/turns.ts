/**
 * Messages of a compat request as the system prompt and the turns of the messages dialect. Source: dialects reference,
 * 8.3 and 5.1; 10.3 (9, 15, 18, 20, 24).
 *
 * Neighbours of one role are one turn. A turn begins with what the API wants first: a user's with the results of the
 * calls before it, in the order of the calls; an assistant's with its thinking. No turn is empty.
 */
import { objectOf, type Values } from "../../values.ts";
import { optionalText, refuse, requiredList, requiredName, requiredObject } from "../required.ts";
import {
  type Block,
  type Scope,
  type TextBlock,
  type ThinkingBlock,
  type ToolResultBlock,
  type Turn,
  textBlock,
} from "./blocks.ts";
import { openToolIds, type ToolIds } from "./ids.ts";
import { isBlank } from "./media.ts";
import { contentBlocks, textBlocks } from "./parts.ts";
import { signedThinking } from "./thinking-replay.ts";
import { legacyId, toolName, toolUses } from "./tool-calls.ts";

export interface Conversation {
  readonly system: readonly TextBlock[];
  readonly turns: readonly Turn[];
  /**
   * The latest turn of the assistant called tools, or is to be continued, and does not begin with thinking, which the API
   * demands of it while thinking is on.
   */
  readonly lacksThinking: boolean;
}

interface OpenTurn {
  readonly role: Turn["role"];
  readonly results: ToolResultBlock[];
  readonly thinking: ThinkingBlock[];
  readonly blocks: Block[];
  /** Of the calls before it: id to position. */
  readonly callOrder: ReadonlyMap<string, number>;
}

interface Draft {
  readonly system: TextBlock[];
  readonly turns: OpenTurn[];
  readonly ids: ToolIds;
  /** Of the latest turn of calls: id to position. */
  callOrder: Map<string, number>;
}

export function conversationOf(value: unknown, scope: Scope): Conversation {
  const messages = requiredList(value, "messages");
  const lastSaid = messages.findLastIndex((item) => !isInstruction(item));
  const isAnswered = objectOf(messages[lastSaid])?.["role"] === "assistant";
  const draft: Draft = { system: [], turns: [], ids: openToolIds(messages), callOrder: new Map() };
  for (const [index, item] of messages.entries()) {
    const place = `messages[${index}]`;
    addMessage(draft, requiredObject(item, place), place, isAnswered && index > lastSaid, scope);
  }
  const turns = withPrefill(wellPlaced(draft), scope);
  if (turns.length === 0) refuse("messages", "hold nothing that could be answered");
  return { system: draft.system, turns: turns.map(closed), lacksThinking: lacksThinking(turns) };
}

function isInstruction(message: unknown): boolean {
  const role = objectOf(message)?.["role"];
  return role === "system" || role === "developer";
}

/** `isClosing`: nobody says anything after it, and an answer stands before it. */
function addMessage(draft: Draft, message: Values, place: string, isClosing: boolean, scope: Scope): void {
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

function addInstruction(draft: Draft, message: Values, place: string, isClosing: boolean, scope: Scope): void {
  const blocks = textBlocks(message["content"], `${place}.content`, scope);
  // What closes the conversation after an answer asks for another; without it the answer would be one to go on with.
  if (isClosing && draft.turns.length > 0) add(draft, "user", blocks);
  else if (draft.turns.length > 0 && scope.claims("mid_system")) add(draft, "system", blocks);
  else append(draft.system, blocks);
}

function addAssistant(draft: Draft, message: Values, place: string, scope: Scope): void {
  if (draft.turns.at(-1)?.role !== "assistant") {
    draft.ids.beginTurn();
    draft.callOrder = new Map();
  }
  const blocks: Block[] = [...textBlocks(message["content"], `${place}.content`, scope)];
  const refusal = optionalText(message["refusal"], `${place}.refusal`);
  if (refusal !== undefined && !isBlank(refusal)) blocks.push(textBlock(refusal));
  for (const use of toolUses(message, place, draft.ids, scope.exact)) {
    draft.callOrder.set(use.id, draft.callOrder.size);
    blocks.push(use);
  }
  // Thinking alone is no turn: nothing came of it.
  if (blocks.length === 0) return;
  add(draft, "assistant", blocks);
  if (scope.claims("thinking_replay")) append(turnOf(draft, "assistant").thinking, signedThinking(message));
}

function addResult(draft: Draft, callId: string, message: Values, place: string, scope: Scope): void {
  const { results } = turnOf(draft, "user");
  const { content } = message;
  results.push({
    type: "tool_result",
    tool_use_id: draft.ids.result(callId),
    content: typeof content === "string" ? content || undefined : resultBlocks(content, place, scope),
  });
}

function resultBlocks(content: unknown, place: string, scope: Scope): ToolResultBlock["content"] {
  const blocks = contentBlocks(content, `${place}.content`, scope);
  return blocks.length === 0 ? undefined : blocks;
}

function add(draft: Draft, role: Turn["role"], blocks: readonly Block[]): void {
  if (blocks.length > 0) append(turnOf(draft, role).blocks, blocks);
}

function turnOf({ turns, callOrder }: Draft, role: Turn["role"]): OpenTurn {
  const last = turns.at(-1);
  if (last?.role === role) return last;
  const turn: OpenTurn = { role, results: [], thinking: [], blocks: [], callOrder };
  turns.push(turn);
  return turn;
}

/** The API takes an instruction behind what the user said where nothing but the answer follows. Any other goes to the head. */
function wellPlaced({ turns, system }: Draft): readonly OpenTurn[] {
  const placed: OpenTurn[] = [];
  for (const [index, turn] of turns.entries()) {
    const last = placed.at(-1);
    const isMisplaced = turn.role === "system" && (last?.role !== "user" || turns[index + 1]?.role === "user");
    if (isMisplaced) append(system, turn.blocks.filter(isText));
    else if (last?.role === turn.role) join(last, turn);
    else placed.push(turn);
  }
  return placed;
}

const isText = (block: Block): block is TextBlock => block.type === "text";

function join(turn: OpenTurn, { results, thinking, blocks }: OpenTurn): void {
  append(turn.results, results);
  append(turn.thinking, thinking);
  append(turn.blocks, blocks);
}

/** The start of the answer, where the request ends with one: the API refuses space at its end. */
function withPrefill(turns: readonly OpenTurn[], { claims }: Scope): readonly OpenTurn[] {
  const last = turns.at(-1);
  if (last?.role !== "assistant") return turns;
  if (!claims("prefill")) return turns.slice(0, -1);
  const block = last.blocks.at(-1);
  if (block?.type === "text") last.blocks.splice(-1, 1, textBlock(block.text.trimEnd(), block.cache_control));
  return turns;
}

function lacksThinking(turns: readonly OpenTurn[]): boolean {
  const latest = turns.findLast(({ role }) => role === "assistant");
  if (latest === undefined || latest.thinking.length > 0) return false;
  const isLast = latest === turns.findLast(({ role }) => role !== "system");
  return isLast || latest.blocks.some(({ type }) => type === "tool_use");
}

function closed({ role, results, thinking, blocks, callOrder }: OpenTurn): Turn {
  const content = [...inCallOrder(results, callOrder), ...thinking, ...blocks];
  const [only] = content;
  const isPlain = content.length === 1 && only?.type === "text" && only.cache_control === undefined;
  return { role, content: isPlain ? only.text : content };
}

/** Results of unknown calls are last, for the provider to judge. */
function inCallOrder(
  results: readonly ToolResultBlock[],
  order: ReadonlyMap<string, number>,
): readonly ToolResultBlock[] {
  const position = ({ tool_use_id }: ToolResultBlock) => order.get(tool_use_id) ?? order.size;
  return results.length < 2 ? results : results.toSorted((one, other) => position(one) - position(other));
}

/** A list may be longer than a call takes arguments. */
function append<Of>(list: Of[], items: readonly Of[]): void {
  for (const item of items) list.push(item);
}
