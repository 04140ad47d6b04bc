/**
 * Reads the members of a request's JSON. One table serves every route with known members; every string of a member that it does
 * not name is a `user` text.
 */
import { uninspectedMembers } from "../uninspected.ts";
import type { Collector, Context } from "./collector.ts";
import { isIdentifier, isUninspected, readMessage, readPart } from "./message-texts.ts";
import { type Node, type ObjectNode, stringIn } from "./text-tree.ts";

const SETTINGS = uninspectedMembers("settings");
/** Names of settings that contain further settings. */
const SETTING_NAMES: ReadonlySet<string> = new Set([...SETTINGS.keys()].map((name) => name.split(".", 1)[0] as string));
const EVENTS = uninspectedMembers("events");
const UNINSPECTED_IN_TOOLS = uninspectedMembers("tools");
const UNINSPECTED_IN_SCHEMAS = uninspectedMembers("schemas");

const MESSAGES: ReadonlySet<string> = new Set(["messages", "items", "additional_messages"]);
const SYSTEM: ReadonlySet<string> = new Set(["system", "instructions", "additional_instructions"]);
const TOOLS: ReadonlySet<string> = new Set(["tools", "functions"]);
const SCHEMAS: ReadonlySet<string> = new Set(["response_format", "output_config", "output_format", "text"]);

/** Properties of a route that decide how the members of its bodies are read. */
export interface MemberRules {
  /** Whether `input` is a conversation instead of a list of texts. */
  readonly hasItems: boolean;
  /** Whether the body is a session event, whose settings are at a deeper level. */
  readonly isEvent: boolean;
}

export function readMembers(collector: Collector, body: ObjectNode, rules: MemberRules): void {
  const system: Context = { kind: "system", turn: oldestTurn(body, rules) };
  for (const { name, value } of body.members) {
    if (isThread(name, rules)) readThread(collector, value);
    else if (SYSTEM.has(name)) readPart(collector, value, system);
    else if (TOOLS.has(name)) readTools(collector, value, system);
    else if (SCHEMAS.has(name) && value.kind === "object") readTool(collector, value, system);
    else if (name === "requests") readBatch(collector, value, rules);
    else if (value.kind === "object" && isNestedBody(name, rules)) readMembers(collector, value, rules);
    else if (rules.isEvent && readEventMember(collector, name, value)) continue;
    else if (SETTING_NAMES.has(name)) readSetting(collector, name, value);
    else readPart(collector, value, NEWEST);
  }
}

/** Returns whether the member is a conversation, whose items are messages. */
const isThread = (name: string, { hasItems }: MemberRules): boolean =>
  MESSAGES.has(name) || (name === "input" && hasItems);

/** Returns whether an object under this name has the members of a body itself. */
const isNestedBody = (name: string, { isEvent }: MemberRules): boolean =>
  name === "thread" || (isEvent && (name === "session" || name === "response"));

/** Returns the turn of instructions and tools, which is before the oldest message of the body. */
function oldestTurn(body: ObjectNode, rules: MemberRules): number {
  let oldest = 0;
  for (const { name, value } of body.members) {
    if (isThread(name, rules)) oldest = Math.max(oldest, lengthOf(value));
    else if (name === "thread") oldest = Math.max(oldest, lengthOf(messagesIn(value)));
  }
  return oldest;
}

/** Reads a member that only session events have. Returns false if it is none. */
function readEventMember(collector: Collector, name: string, value: Node): boolean {
  if (name === "item") readMessage(collector, value, 0);
  else if (isUninspected(EVENTS, name, value)) collector.uninspected.push("audio");
  else return isIdentifier(name, value);
  return true;
}

/** Reads a setting. A value in an unexpected form, and unknown members of it, are texts. */
function readSetting(collector: Collector, path: string, value: Node): void {
  const form = SETTINGS.get(path);
  if (form === "any") return;
  if (value.kind === "list") for (const item of value.items) readSetting(collector, path, item);
  else if (value.kind === "object")
    for (const { name, value: inner } of value.members) readSetting(collector, `${path}.${name}`, inner);
  else if (value.kind === "string" && (form === undefined || !form.test(stringIn(value)))) {
    // The name of a model is read-only, since another name would be another model.
    if (path === "model" || path === "models") collector.add(stringIn(value), undefined, NEWEST);
    else collector.addString(value, NEWEST);
  }
}

const NEWEST: Context = { kind: "user", turn: 0 };

/** Returns the messages of the thread that the request creates. */
const messagesIn = (thread: Node): Node =>
  (thread.kind === "object" && thread.members.find(({ name }) => name === "messages")?.value) || thread;

const lengthOf = (value: Node): number => (value.kind === "list" ? value.items.length : 1);

function readThread(collector: Collector, value: Node): void {
  const messages = value.kind === "list" ? value.items : [value];
  for (const [at, message] of messages.entries()) readMessage(collector, message, messages.length - 1 - at);
}

/** Reads the entries of a batch, each a request of its own. */
function readBatch(collector: Collector, value: Node, rules: MemberRules): void {
  for (const entry of value.kind === "list" ? value.items : [value]) {
    if (entry.kind !== "object") {
      readPart(collector, entry, NEWEST);
      continue;
    }
    for (const { name, value: params } of entry.members) {
      if ((name === "params" || name === "body") && params.kind === "object") readMembers(collector, params, rules);
      else if (SETTING_NAMES.has(name)) readSetting(collector, name, params);
      else readPart(collector, params, NEWEST);
    }
  }
}

const NESTED_TOOL_MEMBERS: ReadonlySet<string> = new Set(["function", "custom", "format", "json_schema"]);

function readTools(collector: Collector, value: Node, context: Context): void {
  if (value.kind === "object") readTool(collector, value, context);
  else if (value.kind === "list") for (const item of value.items) readTools(collector, item, context);
  else readSchema(collector, value, context);
}

/** Reads a tool, or the format of an answer: descriptions and a schema. */
function readTool(collector: Collector, tool: ObjectNode, context: Context): void {
  for (const { name, value } of tool.members) {
    if (isUninspected(UNINSPECTED_IN_TOOLS, name, value)) continue;
    if (NESTED_TOOL_MEMBERS.has(name) && value.kind === "object") readTool(collector, value, context);
    else if (name === "tools") readTools(collector, value, context);
    else readSchema(collector, value, context);
  }
}

function readSchema(collector: Collector, node: Node, context: Context): void {
  if (node.kind === "string") collector.addString(node, context);
  else if (node.kind === "list") for (const item of node.items) readSchema(collector, item, context);
  else if (node.kind === "object") {
    for (const { name, value } of node.members) {
      if (isStructure(name, value)) continue;
      // A pattern is read-only, since another pattern would be another schema.
      if (name === "pattern" && value.kind === "string") collector.add(stringIn(value), undefined, context);
      else readSchema(collector, value, context);
    }
  }
}

function isStructure(name: string, node: Node): boolean {
  return node.kind === "list"
    ? node.items.every((item) => isUninspected(UNINSPECTED_IN_SCHEMAS, name, item))
    : isUninspected(UNINSPECTED_IN_SCHEMAS, name, node);
}
