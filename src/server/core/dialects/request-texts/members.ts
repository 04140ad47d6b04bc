/**
 * The members of a request's JSON. One table serves every route whose members are known; a member that it does not name is
 * a `user` text, every string of it.
 *
 * Not inspected: object names; numbers; `metadata`, `user`, `safety_identifier`, `stop` and what steers the provider
 * (`OPAQUE`), `mcp_servers` and the addresses and credentials of tools; names and ids of tools, calls and items;
 * what only the provider can read (signatures, encrypted reasoning); addresses of media; images, sound, video and files
 * but for those of text, which are counted.
 */
import type { Collector, Context } from "./collector.ts";
import { BASE64 } from "./media.ts";
import { isId, isWritten, readMessage, readPart } from "./messages.ts";
import { type Node, type ObjectNode, stringIn } from "./text-tree.ts";

const OPAQUE: ReadonlySet<string> = new Set([
  "model",
  "models",
  "type",
  "event_id",
  "user",
  "safety_identifier",
  "metadata",
  "stop",
  "stop_sequences",
  "stop_sequence",
  "service_tier",
  "reasoning_effort",
  "reasoning",
  "thinking",
  "thread",
  "modalities",
  "stream_options",
  "tool_choice",
  "function_call",
  "encoding_format",
  "prompt_cache_key",
  "previous_response_id",
  "previous_item_id",
  "conversation",
  "include",
  "container",
  "mcp_servers",
  "custom_id",
]);

const MESSAGES: ReadonlySet<string> = new Set(["messages", "items", "additional_messages"]);
const SYSTEM: ReadonlySet<string> = new Set(["system", "instructions", "additional_instructions"]);
const TOOLS: ReadonlySet<string> = new Set(["tools", "functions"]);
const SCHEMAS: ReadonlySet<string> = new Set(["response_format", "output_config", "output_format", "text"]);

/** What else a route's members may be. */
export interface Members {
  /** `input` is a conversation, not a list of texts. */
  readonly hasItems: boolean;
  /** It is an event of a session, which holds such members further in. */
  readonly isEvent: boolean;
}

export function readMembers(collector: Collector, body: ObjectNode, of: Members): void {
  const isThread = (name: string): boolean => MESSAGES.has(name) || (name === "input" && of.hasItems);
  const oldest = body.members.reduce(
    (most, { name, value }) => Math.max(most, isThread(name) ? lengthOf(value) : 0),
    0,
  );
  const system: Context = { kind: "system", turn: oldest };
  for (const { name, value } of body.members) {
    if (isThread(name)) readThread(collector, value);
    else if (SYSTEM.has(name)) readPart(collector, value, system);
    else if (TOOLS.has(name)) readTools(collector, value, system);
    else if (SCHEMAS.has(name) && value.kind === "object") readTool(collector, value, system);
    else if (name === "requests") readBatch(collector, value, of);
    else if (of.isEvent && (name === "session" || name === "response") && value.kind === "object")
      readMembers(collector, value, of);
    else if (of.isEvent && name === "item") readMessage(collector, value, 0);
    else if (of.isEvent && name === "audio" && isWritten(value, BASE64)) collector.uninspected.push("audio");
    else if (of.isEvent && isId(name, value)) continue;
    else if (!OPAQUE.has(name)) readPart(collector, value, NEWEST);
  }
}

const NEWEST: Context = { kind: "user", turn: 0 };

const lengthOf = (value: Node): number => (value.kind === "list" ? value.items.length : 1);

function readThread(collector: Collector, value: Node): void {
  const messages = value.kind === "list" ? value.items : [value];
  for (const [at, message] of messages.entries()) readMessage(collector, message, messages.length - 1 - at);
}

/** Entries of a batch, each a request of its own. */
function readBatch(collector: Collector, value: Node, of: Members): void {
  for (const entry of value.kind === "list" ? value.items : [value]) {
    if (entry.kind !== "object") {
      readPart(collector, entry, NEWEST);
      continue;
    }
    for (const { name, value: params } of entry.members) {
      if ((name === "params" || name === "body") && params.kind === "object") readMembers(collector, params, of);
      else if (!OPAQUE.has(name)) readPart(collector, params, NEWEST);
    }
  }
}

/** Members of a tool that the provider uses and no model is shown. */
const OF_PROVIDER: ReadonlySet<string> = new Set(["authorization", "headers", "server_url", "vector_store_ids"]);
const WITHIN: ReadonlySet<string> = new Set(["function", "custom", "format", "json_schema"]);
const STRUCTURE: ReadonlySet<string> = new Set(["type", "required", "$ref", "$schema", "$id", "$anchor"]);
const NAME = /^[\w.:/#$-]{1,256}$/;

function readTools(collector: Collector, value: Node, context: Context): void {
  if (value.kind === "object") readTool(collector, value, context);
  else if (value.kind === "list") for (const item of value.items) readTools(collector, item, context);
  else readSchema(collector, value, context);
}

/** A tool, or the format of an answer: descriptions and a schema. */
function readTool(collector: Collector, tool: ObjectNode, context: Context): void {
  for (const { name, value } of tool.members) {
    if (OF_PROVIDER.has(name) || ((name === "name" || name === "type") && isWritten(value, NAME))) continue;
    if (WITHIN.has(name) && value.kind === "object") readTool(collector, value, context);
    else if (name === "tools") readTools(collector, value, context);
    else readSchema(collector, value, context);
  }
}

function readSchema(collector: Collector, node: Node, context: Context): void {
  if (node.kind === "string") collector.addString(node, context);
  else if (node.kind === "list") for (const item of node.items) readSchema(collector, item, context);
  else if (node.kind === "object") {
    for (const { name, value } of node.members) {
      if (STRUCTURE.has(name) && isStructure(value)) continue;
      // Another pattern is another schema.
      if (name === "pattern" && value.kind === "string") collector.add(stringIn(value), undefined, context);
      else readSchema(collector, value, context);
    }
  }
}

function isStructure(node: Node): boolean {
  return isWritten(node, NAME) || (node.kind === "list" && node.items.every((item) => isWritten(item, NAME)));
}
