/**
 * Collects the capabilities that the items of a `responses` request use. Source: responses reference, 3.
 *
 * Members that are always dropped, like an item's id and status, do not count as uses.
 */

import { listOf, objectOf, type Values } from "../../json/json-values.ts";
import type { Form } from "../../routes/routes.ts";
import type { Capability } from "../capabilities.ts";
import { isText } from "../dialect-forms.ts";
import { RESPONSE } from "../known-response-fields.ts";
import type { UseList } from "./use-list.ts";
import { type PartReading, readParts } from "./uses-responses-parts.ts";

/** Capabilities of item types that only a provider with the capability understands. */
const LOST: ReadonlyMap<unknown, Capability> = new Map<unknown, Capability>([
  ["item_reference", "stored_responses"],
  ["compaction", "compaction"],
  ["compaction_summary", "compaction"],
  ["compaction_trigger", "compaction"],
  ["program", "programmatic_tools"],
  ["program_output", "programmatic_tools"],
  ["mcp_approval_request", "server_tools"],
  ["mcp_approval_response", "server_tools"],
  ["computer_call", "builtin_tools"],
  ["computer_call_output", "builtin_tools"],
  ["local_shell_call", "builtin_tools"],
  ["local_shell_call_output", "builtin_tools"],
  ["shell_call", "builtin_tools"],
  ["shell_call_output", "builtin_tools"],
  ["apply_patch_call", "builtin_tools"],
  ["apply_patch_call_output", "builtin_tools"],
  // Results of the provider's own tools can be dropped: the model's message after them reports what they returned.
  ["web_search_call", "hosted_history"],
  ["file_search_call", "hosted_history"],
  ["code_interpreter_call", "hosted_history"],
  ["image_generation_call", "hosted_history"],
  ["mcp_list_tools", "hosted_history"],
  ["mcp_call", "hosted_history"],
  ["tool_search_call", "hosted_history"],
  ["tool_search_output", "hosted_history"],
]);

type Side = "assistant" | "user" | undefined;

export function readItems(input: unknown, to: Form, uses: UseList): void {
  const items = listOf(input);
  let previousSide: Side;
  for (let index = 0; index < items.length; index += 1) {
    const item = objectOf(items[index]);
    if (item === undefined) continue;
    uses.enter("input", index);
    if (isInstruction(item)) {
      if (previousSide !== undefined) readLateInstruction(previousSide, items[index + 1], to, uses);
      readMessage(item, { uses, to, takesMedia: false });
      continue;
    }
    previousSide = readItem(item, to, uses) ?? previousSide;
  }
  uses.leave();
  const last = items.findLastIndex((item) => sideOf(item) !== undefined);
  if (sideOf(items[last]) === "assistant") uses.add("prefill", `input[${last}]`);
}

function isInstruction({ type, role }: Values): boolean {
  return isMessage(type) && (role === "system" || role === "developer");
}

/** Returns whether the item is a message. The short form leaves the type out. */
function isMessage(type: unknown): boolean {
  return type === "message" || type === undefined || type === null;
}

/** Returns the side that an item comes from, or `undefined` for an instruction and for an item outside the conversation. */
function sideOf(value: unknown): Side {
  const item = objectOf(value);
  switch (item?.type) {
    case "function_call":
    case "custom_tool_call":
      return "assistant";
    case "function_call_output":
    case "custom_tool_call_output":
      return "user";
    default:
      if (item === undefined || !isMessage(item.type)) return undefined;
      return item.role === "user" || item.role === "assistant" ? item.role : undefined;
  }
}

/**
 * Reads an instruction after the first turn. A messages provider accepts it only after a user turn, and only if the model's
 * answer follows.
 */
function readLateInstruction(previousSide: Side, next: unknown, to: Form, uses: UseList): void {
  uses.add("mid_system");
  if (to === "messages" && (previousSide === "assistant" || sideOf(next) === "user")) uses.lose("mid_system");
}

function readItem(item: Values, to: Form, uses: UseList): Side {
  const { type } = item;
  switch (type) {
    case undefined:
    case null:
    case "message":
      return readOther(item, to, uses);
    case "function_call":
      uses.checkItemMembers(item, RESPONSE.functionCall);
      readCall(item, uses);
      if (to === "messages" && typeof item.arguments === "string") uses.addArguments(item.arguments);
      return "assistant";
    case "custom_tool_call":
      uses.checkItemMembers(item, RESPONSE.customCall);
      uses.add("custom_tools");
      readCall(item, uses);
      return "assistant";
    case "custom_tool_call_output":
    case "function_call_output":
      uses.checkItemMembers(item, RESPONSE.output);
      readOutput(item, to, uses);
      return "user";
    case "reasoning":
      readReasoning(item, uses);
      return undefined;
    case "additional_tools":
      uses.checkItemMembers(item, RESPONSE.additionalTools);
      return undefined;
    case "configuration_update":
      uses.checkItemMembers(item, RESPONSE.configuration);
      return undefined;
    default: {
      const lost = LOST.get(type);
      if (lost === undefined) uses.lose("unknown_field", "type");
      else uses.add(lost);
      return undefined;
    }
  }
}

/** Reads any other item. Without a role and a type it is a reference, or unknown. */
function readOther(item: Values, to: Form, uses: UseList): Side {
  const { role } = item;
  if (role === "user" || role === "assistant") {
    readMessage(item, { uses, to, takesMedia: role === "user" });
    return role;
  }
  if (role === undefined && item.type !== "message" && isText(item.id)) uses.add("stored_responses");
  else uses.lose("unknown_field", "role");
  return undefined;
}

function readMessage(message: Values, reading: PartReading): void {
  const { uses } = reading;
  uses.checkItemMembers(message, RESPONSE.message);
  if (isText(message.phase)) uses.lose("hint", "phase");
  if (typeof message.content !== "string") readParts("content", message.content, reading);
}

function readCall(item: Values, uses: UseList): void {
  uses.add("tools");
  if (isText(item.namespace)) uses.add("tool_namespaces", "namespace");
  if (item.async === true) uses.add("async_tools", "async");
  readCaller(item, uses);
}

function readOutput(item: Values, to: Form, uses: UseList): void {
  uses.add("tools");
  readCaller(item, uses);
  if (typeof item.output === "string") return;
  if (readParts("output", item.output, { uses, to, takesMedia: true })) uses.add("tool_result_media", "output");
}

function readCaller({ caller }: Values, uses: UseList): void {
  if (objectOf(caller)?.type === "program") uses.add("programmatic_tools", "caller");
}

/** Reads reasoning. Unsealed reasoning was meant for display only. */
function readReasoning(item: Values, uses: UseList): void {
  uses.checkItemMembers(item, RESPONSE.reasoningItem);
  if (isText(item.encrypted_content)) uses.add("thinking_replay");
  else if (listOf(item.summary).length > 0 || listOf(item.content).length > 0) uses.lose("hint");
}
