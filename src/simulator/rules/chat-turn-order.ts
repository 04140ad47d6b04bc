/**
 * Checks the order of turns in a chat request: a tool result follows its call, every call has its result before the
 * next turn, and a turn of the assistant has text or a call.
 *
 * Source: dialects.md section 3.1, below the shapes of messages.
 */

import { Refused } from "../dialect-errors.ts";
import { type JsonObject, objectsOf, stringOf } from "../json-fields.ts";

/** Checks the turns of `messages`, which have the shape of `chat-shape.ts`. */
export function checkChatTurns(messages: readonly JsonObject[]): void {
  let open = new Set<string>();
  let isCalled = false;
  messages.forEach((message, index) => {
    const { role } = message;
    const at = `messages.[${index}]`;
    if (role === "tool") {
      if (!open.delete(stringOf(message["tool_call_id"]) ?? "")) {
        const text = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
        throw new Refused(400, `Invalid parameter: ${text}`, `${at}.role`);
      }
      return;
    }
    refuseUnanswered(open, at);
    if (role === "function" && !isCalled) {
      const text = "messages with role 'function' must be a response to a preceeding message with 'function_call'.";
      throw new Refused(400, `Invalid parameter: ${text}`, `${at}.role`);
    }
    if (role !== "assistant") return;
    const calls = objectsOf(message["tool_calls"]);
    open = new Set(calls.map(({ id }) => stringOf(id) ?? ""));
    if (open.size < calls.length) {
      throw new Refused(400, `Duplicate 'id' in '${at}.tool_calls'.`, `${at}.tool_calls`, "invalid_value");
    }
    isCalled = message["function_call"] !== undefined && message["function_call"] !== null;
    const hasContent = ["content", "refusal", "audio"].some((name) => (message[name] ?? null) !== null);
    if (!hasContent && calls.length === 0 && !isCalled) {
      throw new Refused(400, "Invalid value for 'content': expected a string, got null.", `${at}.content`);
    }
  });
  refuseUnanswered(open, `messages.[${messages.length}]`);
}

function refuseUnanswered(open: ReadonlySet<string>, at: string): void {
  if (open.size === 0) return;
  const message =
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
    `The following tool_call_ids did not have response messages: ${[...open].map((id) => id.slice(0, 64)).join(", ")}`;
  throw new Refused(400, message, `${at}.role`);
}
