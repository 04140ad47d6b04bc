/**
 * What the compat dialect refuses of a chat request, so that whoever translates into it learns of a mistake here and
 * not at a real provider: an empty conversation, tool results that answer no call, and calls without a result.
 */

import { Refused } from "./errors.ts";
import { arrayOf, type JsonObject, objectsOf, stringOf } from "./json.ts";

const ROLES = new Set(["developer", "system", "user", "assistant", "tool", "function"]);

/** The bound on `n` of the dialect. */
const MAX_CHOICES = 128;

export function checkChat(body: JsonObject): void {
  const messages = objectsOf(body["messages"]);
  if (messages.length === 0 || messages.length !== arrayOf(body["messages"])?.length) {
    throw new Refused(400, "messages must be an array of at least one message.", "messages");
  }
  checkCount(body["n"], "n");
  if (body["stream_options"] !== undefined && body["stream_options"] !== null && body["stream"] !== true) {
    throw new Refused(400, "stream_options is allowed only when stream is true.", "stream_options");
  }
  let open = new Set<string>();
  messages.forEach((message, index) => {
    const role = stringOf(message["role"]) ?? "";
    const at = `messages[${index}]`;
    if (!ROLES.has(role)) throw new Refused(400, `${at}.role is not a role.`, `${at}.role`);
    if (role === "tool") {
      const id = stringOf(message["tool_call_id"]) ?? "";
      if (!open.delete(id)) {
        throw new Refused(400, `${at} answers no tool call of the message before it.`, `${at}.tool_call_id`);
      }
      return;
    }
    if (open.size > 0) throw new Refused(400, `${at} follows tool calls that have no result yet.`, at);
    const calls = role === "assistant" ? objectsOf(message["tool_calls"]) : [];
    open = new Set(calls.map(({ id }) => stringOf(id) ?? ""));
  });
  if (open.size > 0) throw new Refused(400, "The last message has tool calls without results.", "messages");
}

/** `n` of 1 to 128 where it is given. */
export function checkCount(count: unknown, name: string): void {
  if (count === undefined || count === null) return;
  if (typeof count === "number" && Number.isInteger(count) && count >= 1 && count <= MAX_CHOICES) return;
  throw new Refused(400, `${name} must be an integer of 1 to ${MAX_CHOICES}.`, name);
}
