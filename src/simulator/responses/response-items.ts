/** Complete items of a response, from which the stream events of each item are made. */

import { REFUSAL_TEXT, type Reply, type ToolCall } from "../generate-reply.ts";
import { objectOf, parseJson, stringOf } from "../json-fields.ts";
import { type Call, idOf } from "../route-types.ts";
import { encryptedContentOf } from "../thinking-signature.ts";
import type { CallableTool } from "./callable-tools.ts";

type Status = "completed" | "incomplete";

export type Part =
  | {
      readonly type: "output_text";
      readonly text: string;
      readonly annotations: readonly never[];
      readonly logprobs: readonly never[];
    }
  | { readonly type: "refusal"; readonly refusal: string };

export interface MessageItem {
  readonly id: string;
  readonly type: "message";
  readonly status: Status;
  readonly role: "assistant";
  readonly content: readonly Part[];
}

interface ReasoningItem {
  readonly id: string;
  readonly type: "reasoning";
  readonly summary: readonly { readonly type: "summary_text"; readonly text: string }[];
  readonly encrypted_content: string;
}

interface Called {
  readonly id: string;
  readonly status: Status;
  readonly call_id: string;
  readonly name: string;
  /** Namespace of the tool; absent if it has none. */
  readonly namespace?: string;
}

export interface FunctionItem extends Called {
  readonly type: "function_call";
  readonly arguments: string;
}

export interface CustomItem extends Called {
  readonly type: "custom_tool_call";
  readonly input: string;
}

export type Item = MessageItem | ReasoningItem | FunctionItem | CustomItem;

/** Returns why a response is incomplete. */
export function shortageOf({ finish }: Reply): "max_output_tokens" | "content_filter" | undefined {
  if (finish === "length" || finish === "context") return "max_output_tokens";
  return finish === "refusal" || finish === "filtered" ? "content_filter" : undefined;
}

/** Returns the items. There is always a message or a call, and only the last item can be cut off. */
export function itemsOf(call: Call, reply: Reply, tools: ReadonlyMap<string, CallableTool>): readonly Item[] {
  const { calls, text, thinking } = reply;
  const ended: Status = shortageOf(reply) === undefined ? "completed" : "incomplete";
  const items: Item[] = [];
  if (thinking !== "") items.push(reasoningItem(call, reply));
  if (calls.length === 0 || text !== "") {
    items.push(messageItem(call.serial, reply, calls.length === 0 ? ended : "completed"));
  }
  calls.forEach((made, index) => {
    const status = index === calls.length - 1 ? ended : "completed";
    items.push(callItem(call.serial, made, index, status, tools.get(made.name)));
  });
  return items;
}

function reasoningItem({ serial, body }: Call, { thinking, variant }: Reply): ReasoningItem {
  const id = idOf("rs_", serial);
  const asked = objectOf(body["reasoning"]);
  const isShown = !variant.isRedacted && stringOf(asked?.["summary"] ?? asked?.["generate_summary"]) !== undefined;
  const summary = isShown ? [{ type: "summary_text", text: thinking } as const] : [];
  return { id, type: "reasoning", summary, encrypted_content: encryptedContentOf(id) };
}

function messageItem(serial: number, { finish, text }: Reply, status: Status): MessageItem {
  const part: Part =
    finish === "refusal"
      ? { type: "refusal", refusal: REFUSAL_TEXT }
      : { type: "output_text", text, annotations: [], logprobs: [] };
  return { id: idOf("msg_", serial), type: "message", status, role: "assistant", content: [part] };
}

function callItem(
  serial: number,
  { name, input }: ToolCall,
  index: number,
  status: Status,
  tool: CallableTool | undefined,
): FunctionItem | CustomItem {
  const { ownName = name, namespace, isCustom = false } = tool ?? {};
  const suffix = index === 0 ? "" : `_${index}`;
  const called = {
    status,
    call_id: idOf("call_", serial) + suffix,
    name: ownName,
    ...(namespace === undefined ? {} : { namespace }),
  };
  return isCustom
    ? { id: idOf("ctc_", serial) + suffix, type: "custom_tool_call", ...called, input: textWithin(input) }
    : { id: idOf("fc_", serial) + suffix, type: "function_call", ...called, arguments: input };
}

/** Returns the text for a custom tool; for a call that was cut off, the part that exists. */
function textWithin(input: string): string {
  try {
    return stringOf(objectOf(parseJson(input))?.["input"]) ?? input;
  } catch {
    return input;
  }
}
