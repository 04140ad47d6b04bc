/**
 * Message threads of the messages dialect: with `thread` the provider holds the conversation under the id of its answer, and
 * a request that continues it brings only what is new. Source: `@anthropic-ai/sdk` 1.11.0, `lib/internal/threads`, which
 * adds the field by itself and sends the whole conversation again on the error `thread_not_found`.
 */
import { type Member, memberValue, scanObject } from "./json-scan.ts";

/** What a request asks of a thread. `continue`: the conversation so far does not stand in it. */
export type ThreadUse = "none" | "create" | "continue";

/** Whatever some reader may take to continue a thread is said to. `bytes`: of a request that `scanObject` found sound. */
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
    return false; // an escape that is none
  }
}
