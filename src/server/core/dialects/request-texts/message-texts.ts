/**
 * Reads messages and items of every dialect in the same way, so that a request in the form of another route hides nothing.
 * Every string is a text unless it is listed here, so that a part of an unknown type, or an unknown member, is inspected.
 */
import { type UninspectedMembers, uninspectedMembers } from "../uninspected.ts";
import type { Collector, Context } from "./collector.ts";
import type { Channel } from "./join-texts.ts";
import { MEDIA_BLOCKS, readMediaMembers } from "./media-blocks.ts";
import { type Node, type ObjectNode, stringIn, uniqueString } from "./text-tree.ts";
import type { TextKind } from "./types.ts";

const ROLES: ReadonlyMap<string, TextKind> = new Map([
  ["system", "system"],
  ["developer", "system"],
  ["user", "user"],
  ["assistant", "assistant"],
  ["model", "assistant"],
  ["tool", "tool_result"],
  ["function", "tool_result"],
]);

/** Channels of members whose texts are joined with others. */
const CHANNELS: ReadonlyMap<string, Channel> = new Map([
  ["thinking", "thought"],
  ["reasoning", "thought"],
  ["reasoning_content", "thought"],
  ["reasoning_details", "thought"],
  ["summary", "thought"],
]);
/** Returns the channel of a member. `outerChannel` is the channel of the object that contains it. */
const channelOf = (name: string, outerChannel: Channel | undefined): Channel | undefined =>
  name === "text" || name === "content" || outerChannel === "apart" ? (outerChannel ?? "text") : CHANNELS.get(name);

const UNINSPECTED_IN_MESSAGES = uninspectedMembers("messages");
const UNINSPECTED_IN_SEALED_BLOCKS = uninspectedMembers("sealed blocks");
const UNINSPECTED_IN_CALLS = uninspectedMembers("calls");
const SEALED_BLOCKS: ReadonlySet<string> = new Set(["redacted_thinking", "compaction"]);

const CALL = /(?:_call|tool_use|^tool_call|^function|^custom)$/;
const RESULT = /(?:_output|tool_result)$/;
const RESULTS: ReadonlySet<string> = new Set(["output", "outputs", "results"]);

/** Reads an entry of `messages`, or an item. `turn` counts from the end. */
export function readMessage(collector: Collector, node: Node, turn: number): void {
  const role = node.kind === "object" ? uniqueString(node, "role") : undefined;
  const type = node.kind === "object" ? uniqueString(node, "type") : undefined;
  if (node.kind !== "object" || role === undefined) {
    readPart(collector, node, { kind: type === "reasoning" ? "assistant" : "user", turn });
    return;
  }
  const context: Context = { kind: ROLES.get(role) ?? "user", turn };
  for (const { name, value, isShadowed } of node.members) {
    // A participant's name is read-only, since providers accept only some characters in it.
    if (name === "name" && value.kind === "string") collector.add(stringIn(value), undefined, context);
    else readMember(collector, name, value, isShadowed ? { ...context, channel: "apart" } : context);
  }
}

/** Reads content: a string, a part, or a list of those. */
export function readPart(collector: Collector, node: Node, context: Context): void {
  if (node.kind === "string") collector.addString(node, context);
  else if (node.kind === "list") for (const item of node.items) readPart(collector, item, context);
  else if (node.kind === "object") readBlock(collector, node, context);
}

function readBlock(collector: Collector, node: ObjectNode, context: Context): void {
  const type = uniqueString(node, "type") ?? "";
  const inner = { kind: kindOf(type) ?? context.kind, turn: context.turn, channel: context.channel };
  const mediaKind = MEDIA_BLOCKS.get(type);
  const readOther = (name: string, value: Node): void => {
    const isSealed = SEALED_BLOCKS.has(type) && isUninspected(UNINSPECTED_IN_SEALED_BLOCKS, name, value);
    if (!isSealed) readMember(collector, name, value, inner);
  };
  if (mediaKind !== undefined) readMediaMembers(collector, node, mediaKind, inner, readOther);
  else
    for (const { name, value, isShadowed } of node.members) {
      if (isShadowed) readMember(collector, name, value, { ...inner, channel: "apart" });
      else readOther(name, value);
    }
}

function kindOf(type: string): TextKind | undefined {
  if (CALL.test(type)) return "tool_args";
  return RESULT.test(type) ? "tool_result" : undefined;
}

function readMember(collector: Collector, name: string, value: Node, context: Context): void {
  const { kind, turn } = context;
  const channel = channelOf(name, context.channel);
  if (
    isUninspected(UNINSPECTED_IN_MESSAGES, name, value) ||
    (kind === "tool_args" && isUninspected(UNINSPECTED_IN_CALLS, name, value))
  )
    return;
  const args: Context = { kind: "tool_args", turn };
  if (name === "tool_calls" || name === "function_call") readPart(collector, value, args);
  else if (name === "arguments" || (name === "input" && kind === "tool_args")) collector.addArguments(value, args);
  else if (kind === "tool_args" && RESULTS.has(name)) readPart(collector, value, { kind: "tool_result", turn });
  else readPart(collector, value, channel === context.channel ? context : { kind, turn, channel });
}

/** Returns whether the member is an identifier of a message or an item. */
export const isIdentifier = (name: string, value: Node): boolean => isUninspected(UNINSPECTED_IN_MESSAGES, name, value);

/** Returns whether the table of uninspected members has the name and the value has the form that the table requires. */
export function isUninspected(members: UninspectedMembers, name: string, value: Node): boolean {
  const form = members.get(name);
  return form === "any" || (form !== undefined && value.kind === "string" && form.test(stringIn(value)));
}
