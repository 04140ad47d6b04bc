/**
 * Message threads of the messages dialect: with `thread` the provider keeps the conversation under the id of its answer, and a
 * request that continues it contains only the new messages. Source: `@anthropic-ai/sdk` 1.11.0, `lib/internal/threads`, which
 * adds the field automatically and sends the whole conversation again on the error `thread_not_found`.
 */
import { type Member, memberValue, scanObject } from "./json/json-scan.ts";

/** How a request uses a thread. With `continue`, the request does not contain the conversation so far. */
export type ThreadUse = "none" | "create" | "continue";

/**
 * Returns how the request uses a thread. A form that any reader may take as a continuation counts as one. `bytes` is a request
 * that `scanObject` found valid.
 */
export function threadUse(bytes: Buffer, thread: Member | undefined): ThreadUse {
  if (thread === undefined) return "none";
  const value = bytes.subarray(thread.valueStart, thread.valueEnd);
  if (value.toString("latin1") === "null") return "none";
  const scan = scanObject(value, ["type", "previous_message_id"], true);
  if (scan.kind === "problem") return "continue";
  const [type, previous] = scan.members;
  return type !== undefined && previous === undefined && isCreate(value, type) ? "create" : "continue";
}

function isCreate(value: Buffer, type: Member): boolean {
  try {
    return memberValue(value, type) === "create";
  } catch {
    return false; // The text has an invalid escape.
  }
}
