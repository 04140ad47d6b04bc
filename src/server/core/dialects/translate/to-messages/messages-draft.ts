/**
 * Assembles the system prompt and the turns of a messages request, whatever form they come from. Source: dialects reference,
 * 8.3 and 5.1; 10.3 (15, 18, 20, 24).
 *
 * Consecutive turns of one role are one turn. A turn begins with what the API requires first: a user's turn with the results
 * of the preceding calls, in their order; an assistant's turn with its thinking. No turn is empty.
 */
import {
  type Block,
  type Scope,
  type TextBlock,
  type ThinkingBlock,
  type ToolResultBlock,
  type Turn,
  textBlock,
} from "./block-types.ts";

export interface Conversation {
  readonly system: readonly TextBlock[];
  readonly turns: readonly Turn[];
  /**
   * Whether the assistant's latest turn called tools or should be continued, but does not begin with thinking, which the API
   * requires while thinking is on.
   */
  readonly lacksThinking: boolean;
}

interface OpenTurn {
  readonly role: Turn["role"];
  readonly results: ToolResultBlock[];
  readonly thinking: ThinkingBlock[];
  readonly blocks: Block[];
  /** Whether its content was given in parts. It stays in parts even if it is a single text. */
  isInParts: boolean;
  /** Positions of the calls before the turn, by id. */
  readonly callOrder: ReadonlyMap<string, number>;
}

export interface Draft {
  readonly system: TextBlock[];
  readonly turns: OpenTurn[];
  /** Positions of the calls in the latest turn with calls, by id. */
  callOrder: Map<string, number>;
}

export function openDraft(): Draft {
  return { system: [], turns: [], callOrder: new Map() };
}

/** Begins a new turn of calls; later results belong to its calls. */
export function beginCalls(draft: Draft): void {
  draft.callOrder = new Map();
}

/**
 * Returns the conversation, or `undefined` if there is nothing in it to answer. If it has only instructions, which other dialects
 * answer, the last one becomes the user's turn, since the API requires one.
 */
export function finishConversation(draft: Draft, scope: Scope): Conversation | undefined {
  const turns = adjustPrefill(moveInstructions(draft), scope);
  const instruction = turns.length === 0 ? draft.system.pop() : undefined;
  if (instruction !== undefined) {
    add(draft, "user", [instruction]);
    turns.push(turnOf(draft, "user"));
  }
  if (turns.length === 0) return undefined;
  return { system: draft.system, turns: turns.map(toTurn), lacksThinking: lacksThinking(turns) };
}

export function add(draft: Draft, role: Turn["role"], blocks: readonly Block[]): void {
  if (blocks.length > 0) append(turnOf(draft, role).blocks, blocks);
}

export function turnOf({ turns, callOrder }: Draft, role: Turn["role"]): OpenTurn {
  const last = turns.at(-1);
  if (last?.role === role) return last;
  const turn: OpenTurn = { role, results: [], thinking: [], blocks: [], isInParts: false, callOrder };
  turns.push(turn);
  return turn;
}

/**
 * Moves instructions to where the API accepts them: one after a user's turn stays if only the answer follows; every other one
 * moves to the system prompt.
 */
function moveInstructions({ turns, system }: Draft): OpenTurn[] {
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

function join(turn: OpenTurn, { results, thinking, blocks, isInParts }: OpenTurn): void {
  turn.isInParts ||= isInParts;
  append(turn.results, results);
  append(turn.thinking, thinking);
  append(turn.blocks, blocks);
}

/**
 * Handles an answer that the request begins (prefill): it is removed if the channel does not claim prefill, and loses white
 * space at its end, which the API refuses.
 */
function adjustPrefill(turns: OpenTurn[], { claims }: Scope): OpenTurn[] {
  const last = turns.at(-1);
  if (last?.role !== "assistant") return turns;
  if (!claims("prefill")) return turns.slice(0, -1);
  const block = last.blocks.at(-1);
  if (block?.type === "text") last.blocks.splice(-1, 1, textBlock(block.text.trimEnd(), block.cache_control));
  return turns;
}

function lacksThinking(turns: readonly OpenTurn[]): boolean {
  const latest = turns.findLast(({ role }) => role === "assistant");
  if (latest === undefined || latest.thinking.length > 0 || isThinking(latest.blocks[0])) return false;
  const isLast = latest === turns.findLast(({ role }) => role !== "system");
  return isLast || latest.blocks.some(({ type }) => type === "tool_use");
}

function isThinking(block: Block | undefined): boolean {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

function toTurn({ role, results, thinking, blocks, isInParts, callOrder }: OpenTurn): Turn {
  const content = [...inCallOrder(results, callOrder), ...thinking, ...blocks];
  const [only] = content;
  const isPlain = !isInParts && content.length === 1 && only?.type === "text" && only.cache_control === undefined;
  return { role, content: isPlain ? only.text : content };
}

/** Sorts results by their calls. Results of unknown calls come last, for the provider to judge. */
function inCallOrder(
  results: readonly ToolResultBlock[],
  order: ReadonlyMap<string, number>,
): readonly ToolResultBlock[] {
  const position = ({ tool_use_id }: ToolResultBlock) => order.get(tool_use_id) ?? order.size;
  return results.length < 2 ? results : results.toSorted((one, other) => position(one) - position(other));
}

/** Appends items one by one, since a list may be longer than the maximum number of call arguments. */
export function append<Of>(list: Of[], items: readonly Of[]): void {
  for (const item of items) list.push(item);
}
