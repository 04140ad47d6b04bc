/**
 * Checks thinking that a client sends back in a conversation. Only thinking that this simulated provider made and
 * signed is accepted. With manual thinking, the turn that a tool result continues must begin with it.
 *
 * Source: dialects.md section 5.1, the rules below the blocks; section 10.3 rows 20 and 24.
 */

import { Refused } from "../dialect-errors.ts";
import { type JsonObject, objectOf, stringOf } from "../json-fields.ts";
import { isRedacted, isSigned } from "../thinking-signature.ts";
import type { Turn } from "./messages-turn-order.ts";

/** Refuses thinking with a foreign signature, whether thinking is on or off. */
export function checkThinkingOwn(turns: readonly Turn[]): void {
  for (const { blocks } of turns) {
    for (const { block, at } of blocks) {
      if (
        block["type"] === "thinking" &&
        !isSigned(stringOf(block["thinking"]) ?? "", stringOf(block["signature"]) ?? "")
      ) {
        throw new Refused(400, `${at}: Invalid \`signature\` in \`thinking\` block`);
      }
      if (block["type"] === "redacted_thinking" && !isRedacted(stringOf(block["data"]) ?? "")) {
        throw new Refused(400, `${at}: Invalid \`data\` in \`redacted_thinking\` block`);
      }
    }
  }
}

/**
 * Checks that, with manual thinking, the assistant's last turn begins with thinking if a tool result or nothing follows
 * it: the first of its messages since the user last sent anything but a result. Adaptive thinking does not require
 * that, since the model may leave thinking out.
 */
export function checkThinkingFirst(body: JsonObject, turns: readonly Turn[]): void {
  if (objectOf(body["thinking"])?.["type"] !== "enabled") return;
  let first: Turn | undefined;
  for (let at = turns.length - 1; at >= 0; at -= 1) {
    const turn = turns[at];
    if (turn?.role === "assistant") first = turn;
    else if (turn?.blocks.some(({ block }) => block["type"] === "tool_result") !== true) break;
  }
  const [opening] = first?.blocks ?? [];
  if (opening === undefined) return;
  const type = stringOf(opening.block["type"]) ?? "";
  if (type === "thinking" || type === "redacted_thinking") return;
  throw new Refused(
    400,
    `${opening.at}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${type}\`. When \`thinking\` is ` +
      "enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` " +
      "and `tool_result` blocks). To avoid this requirement, disable `thinking`.",
  );
}
