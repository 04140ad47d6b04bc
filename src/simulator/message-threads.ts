/**
 * Message threads of the messages dialect. With `thread` in its request, the provider stores the conversation under the
 * id of its answer, and the next request contains only what is new. An answer can be continued once.
 *
 * Source: the types and the client code of the official SDK (`lib/internal/threads`).
 */

import { Refused } from "./dialect-errors.ts";
import { type Json, type JsonObject, objectOf, objectsOf, parseJson, stringOf } from "./json-fields.ts";
import { type Call, idOf } from "./route-types.ts";

/** Members that stay as they were when the thread was created. A request that repeats them is refused. */
const CREATE_ONLY = ["system", "tools"];

/** Returns the request with its whole conversation, or the same call if it continues no thread. */
export function withThread(call: Call): Call {
  const requested = objectOf(call.body["thread"]);
  if (requested?.["type"] !== "continue") return call;
  const thread = call.memory.thread(stringOf(requested["previous_message_id"]) ?? "");
  if (thread === undefined) {
    const message = "thread: no usable thread state was found for `previous_message_id`. Replay the full conversation.";
    throw new Refused(404, message, null, "thread_not_found");
  }
  if (thread.isContinued) {
    const message = "thread: the response that `previous_message_id` names has already been continued.";
    throw new Refused(400, message, null, "thread_already_continued");
  }
  const repeated = CREATE_ONLY.find((name) => call.body[name] !== undefined);
  if (repeated !== undefined) {
    const message = `${repeated}: is kept by the thread and may not be sent with \`continue\`.`;
    throw new Refused(400, message, null, "thread_fingerprint_mismatch");
  }
  thread.isContinued = true;
  const messages = [...objectsOf(thread.conversation["messages"]), ...objectsOf(call.body["messages"])];
  return { ...call, body: { ...thread.conversation, ...call.body, messages } };
}

/** Stores the conversation. `answer`: the whole message as JSON text. */
export function storeThread({ body, memory, serial }: Call, answer: string): void {
  const content: Json = objectOf(parseJson(answer))?.["content"] ?? [];
  const conversation: JsonObject = {
    ...(body["system"] !== undefined && { system: body["system"] }),
    ...(body["tools"] !== undefined && { tools: body["tools"] }),
    messages: [...objectsOf(body["messages"]), { role: "assistant", content }],
  };
  memory.storeThread(idOf("msg_", serial), conversation);
}
