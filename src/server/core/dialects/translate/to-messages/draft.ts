/**
 * The system prompt and the turns of a messages request while they are put together, from whatever form they come.
 * Source: dialects reference, 8.3 and 5.1; 10.3 (15, 18, 20, 24).
 *
 * Neighbours of one role are one turn. A turn begins with what the API wants first: a user's with the results of the
 * calls before it, in the order of the calls; an assistant's with its thinking. No turn is empty.
 */
import {
  type Block,
  type Scope,
  type TextBlock,
  type ThinkingBlock,
  type ToolResultBlock,
  type Turn,
  textBlock,
} from "./blocks.ts";

export interface Conversation {
  readonly system: readonly TextBlock[];
  readonly turns: readonly Turn[];
  /**
   * The latest turn of the assistant called tools, or is to be continued, and does not begin with thinking, which the API
   * demands of it while thinking is on.
   */
  readonly lacksThinking: boolean;
}

export interface OpenTurn {
  readonly role: Turn["role"];
  readonly results: ToolResultBlock[];
  readonly thinking: ThinkingBlock[];
  readonly blocks: Block[];
  /** Its content was given in parts, and stays so where it is one text. */
  isInParts: boolean;
  /** Of the calls before it: id to position. */
  readonly callOrder: ReadonlyMap<string, number>;
}

export interface Draft {
  readonly system: TextBlock[];
  readonly turns: OpenTurn[];
  /** Of the latest turn of calls: id to position. */
  callOrder: Map<string, number>;
}

export function openDraft(): Draft {
  return { system: [], turns: [], callOrder: new Map() };
}

/** Calls that come now are another turn's. */
export function beginCalls(draft: Draft): void {
  draft.callOrder = new Map();
}

/** Undefined: there is nothing that could be answered. */
export function finished(draft: Draft, scope: Scope): Conversation | undefined {
  const turns = withPrefill(wellPlaced(draft), scope);
  if (turns.length === 0) return undefined;
  return { system: draft.system, turns: turns.map(closed), lacksThinking: lacksThinking(turns) };
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

function join(turn: OpenTurn, { results, thinking, blocks, isInParts }: OpenTurn): void {
  turn.isInParts ||= isInParts;
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
  if (latest === undefined || latest.thinking.length > 0 || isThinking(latest.blocks[0])) return false;
  const isLast = latest === turns.findLast(({ role }) => role !== "system");
  return isLast || latest.blocks.some(({ type }) => type === "tool_use");
}

function isThinking(block: Block | undefined): boolean {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

function closed({ role, results, thinking, blocks, isInParts, callOrder }: OpenTurn): Turn {
  const content = [...inCallOrder(results, callOrder), ...thinking, ...blocks];
  const [only] = content;
  const isPlain = !isInParts && content.length === 1 && only?.type === "text" && only.cache_control === undefined;
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
export function append<Of>(list: Of[], items: readonly Of[]): void {
  for (const item of items) list.push(item);
}
