/**
 * Checks the order of turns in a request of the messages dialect. Consecutive turns of one role count as one, as the
 * provider merges them. The first turn is the user's. Tool results come first in the turn after their calls, one for
 * each.
 *
 * Source: dialects.md section 5.1, the rules below the blocks.
 */

import { Refused } from "../dialect-errors.ts";
import { type JsonObject, objectsOf, stringOf } from "../json-fields.ts";

export interface Turn {
  readonly role: string;
  /** Index of the first message of the turn. */
  readonly index: number;
  readonly blocks: readonly Placed[];
}

interface Placed {
  readonly block: JsonObject;
  readonly at: string;
}

/** Blocks that only one role may send. Any other block is allowed in both. */
const ROLE_OF: Readonly<Record<string, string>> = {
  tool_use: "assistant",
  server_tool_use: "assistant",
  thinking: "assistant",
  redacted_thinking: "assistant",
  tool_result: "user",
};

/** Merges messages, which have the shape of `messages-shape.ts`, to turns. A text given as a string becomes one block. */
export function mergeTurns(messages: readonly JsonObject[]): readonly Turn[] {
  const turns: { role: string; index: number; blocks: Placed[] }[] = [];
  messages.forEach((message, index) => {
    const role = stringOf(message["role"]) ?? "";
    const isLast = index === messages.length - 1;
    const { content } = message;
    const blocks =
      typeof content === "string"
        ? content === ""
          ? []
          : [{ block: { type: "text", text: content }, at: `messages.${index}.content` }]
        : objectsOf(content).map((block, at) => ({ block, at: `messages.${index}.content.${at}` }));
    if (blocks.length === 0 && !(isLast && role === "assistant")) {
      const rule = "all messages must have non-empty content except for the optional final assistant message";
      throw new Refused(400, `messages.${index}: ${rule}`);
    }
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, index, blocks });
  });
  return turns;
}

export function checkTurns(turns: readonly Turn[]): void {
  const [first] = turns;
  if (first === undefined) throw new Refused(400, "messages: at least one message is required");
  if (first.role !== "user") throw new Refused(400, 'messages: first message must use the "user" role');
  const ids = new Set<string>();
  let open = new Set<string>();
  for (const turn of turns) {
    checkBlocks(turn);
    checkResults(turn, open);
    open = callsOf(turn, ids);
  }
  refuseUnanswered(open, turns.at(-1)?.index ?? 0);
  const last = turns.at(-1);
  const tail = last?.blocks.at(-1)?.block;
  if (last?.role !== "assistant" || tail?.["type"] !== "text") return;
  if (/\s$/.test(stringOf(tail["text"]) ?? "")) {
    throw new Refused(400, "messages: final assistant content cannot end with trailing whitespace");
  }
}

function checkBlocks({ role, blocks, index }: Turn): void {
  for (const { block } of blocks) {
    const type = stringOf(block["type"]) ?? "";
    const only = ROLE_OF[type];
    if (only !== undefined && only !== role) {
      throw new Refused(400, `messages.${index}: \`${type}\` blocks can only be in \`${only}\` messages`);
    }
    if (role === "system" && type !== "text") {
      throw new Refused(400, `messages.${index}: \`system\` messages can only contain \`text\` blocks`);
    }
    if (type === "text" && stringOf(block["text"])?.trim() === "") {
      throw new Refused(400, "messages: text content blocks must contain non-whitespace text");
    }
  }
}

function checkResults({ blocks, index }: Turn, open: ReadonlySet<string>): void {
  const missing = new Set(open);
  let isLeading = true;
  for (const { block, at } of blocks) {
    if (block["type"] !== "tool_result") {
      isLeading = false;
      continue;
    }
    const id = stringOf(block["tool_use_id"]) ?? "";
    if (!open.has(id)) {
      const rule = "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.";
      throw new Refused(
        400,
        `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id.slice(0, 128)}. ${rule}`,
      );
    }
    if (!isLeading && missing.has(id)) refuseUnanswered(missing, index - 1);
    if (!missing.delete(id)) {
      const rule = "each tool_use must have a single result. Found multiple `tool_result` blocks with id";
      throw new Refused(400, `${at}: ${rule}: ${id.slice(0, 128)}`);
    }
  }
  refuseUnanswered(missing, index - 1);
}

function refuseUnanswered(open: ReadonlySet<string>, index: number): void {
  if (open.size === 0) return;
  const ids = [...open].map((id) => id.slice(0, 128)).join(", ");
  throw new Refused(
    400,
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. ` +
      "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
  );
}

/** Returns the ids of a turn's calls. Refuses ids that were used before. */
function callsOf({ blocks }: Turn, ids: Set<string>): Set<string> {
  const made = new Set<string>();
  for (const { block } of blocks) {
    if (block["type"] !== "tool_use") continue;
    const id = stringOf(block["id"]) ?? "";
    if (ids.has(id)) throw new Refused(400, "messages: `tool_use` ids must be unique");
    ids.add(id);
    made.add(id);
  }
  return made;
}
