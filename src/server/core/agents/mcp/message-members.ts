/**
 * Decides which strings of an MCP message are inspected as texts: all except opaque and enumerated values of the protocol, so
 * that members of later revisions are inspected too. Names are read-only. Source: mcp reference, 4 and 5; design decisions,
 * section 11.
 */
import { type JsonNode, memberOf, stringIn } from "../../dialects/index.ts";
import type { TextCollector, TextProperties } from "../text-collector.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Members with an opaque or enumerated value. They are skipped only if the value is a short token. */
const PROTOCOL_MEMBERS = words(
  "jsonrpc id method resultType type role mimeType status createdAt lastUpdatedAt cacheScope progressToken level mode " +
    "action stopReason includeContext format $ref $schema $id $anchor x-mcp-header theme sizes protocolVersion " +
    "supportedVersions",
);
/** Members whose value is sent back to the peer that created it, so it must not be changed. */
const OPAQUE_MEMBERS = words("requestState nextCursor cursor taskId taskIds");
const NAME_MEMBERS = words("name model hints logger required subscriptionId");
const URI_MEMBERS = words("uri uriTemplate src websiteUrl url resourceSubscriptions");
/** Members with free-form content: the caller or the server chooses the names in it. */
const FREE_FORM_MEMBERS = words("arguments structuredContent data context");
/** Members of a schema whose values lose their meaning if they are rewritten. */
const SCHEMA_VALUES = words("pattern enum const default");

const TOKEN = /^[\w.:/+#$-]{1,128}$/;

/** Matches names that the protocol itself defines in `_meta`. */
const OWN_META = /^(?:io\.modelcontextprotocol\/|progressToken$|traceparent$|tracestate$|baggage$)/;

/** Adds the texts of an unknown method's parameters: every string except the members that the protocol defines. */
export function readUnknownParams(
  collector: TextCollector,
  source: string,
  params: JsonNode,
  kind: TextProperties["kind"],
): void {
  if (params.kind !== "object") {
    collector.addAll(params, plain(kind));
    return;
  }
  for (const { name, value } of params.members) {
    if (name === "_meta" || OPAQUE_MEMBERS.has(name)) readMember(collector, source, name, value, kind, params);
    else collector.addAll(value, plain(kind));
  }
}

/** Adds the texts of a member to the collector, all with the same `kind`. */
export function readMember(
  collector: TextCollector,
  source: string,
  name: string,
  node: JsonNode,
  kind: TextProperties["kind"],
  parent: JsonNode | undefined,
): void {
  if (OPAQUE_MEMBERS.has(name)) return;
  if (name === "_meta") {
    if (node.kind !== "object") collector.addAll(node, plain(kind));
    else for (const { name: own, value } of node.members) if (!OWN_META.test(own)) collector.addAll(value, plain(kind));
    return;
  }
  if (name === "inputSchema" || name === "outputSchema" || name === "requestedSchema") {
    readSchema(collector, source, node, kind);
    return;
  }
  if (node.kind === "array") {
    for (const item of node.items) readMember(collector, source, name, item, kind, parent);
    return;
  }
  const isEncoded = node.kind === "string" && (name === "blob" || (name === "data" && isMedia(source, parent)));
  if (isEncoded) {
    const declared = stringIn(source, memberOf(parent, "mimeType")) ?? "";
    collector.addEncoded(
      node,
      declared === "" ? `${stringIn(source, memberOf(parent, "type")) ?? ""}/` : declared,
      plain(kind),
    );
    return;
  }
  // A member `content` beside `action` contains a form that a person filled in.
  const isForm = name === "content" && memberOf(parent, "action") !== undefined;
  if (FREE_FORM_MEMBERS.has(name) || isForm) {
    collector.addAll(node, name === "arguments" ? { ...plain(kind), isArgument: true } : plain(kind));
    return;
  }
  if (node.kind === "object") {
    for (const member of node.members) readMember(collector, source, member.name, member.value, kind, node);
    return;
  }
  const text = stringIn(source, node);
  if (text === undefined || (PROTOCOL_MEMBERS.has(name) && TOKEN.test(text))) return;
  if (NAME_MEMBERS.has(name)) collector.add(node, { kind, ref: "name", isReadOnly: true });
  else if (URI_MEMBERS.has(name)) collector.add(node, { kind, ref: "uri", isReadOnly: true });
  else collector.add(node, plain(kind));
}

export const plain = (kind: TextProperties["kind"]): TextProperties => ({ kind, ref: "", isReadOnly: false });

function isMedia(source: string, parent: JsonNode | undefined): boolean {
  const type = stringIn(source, memberOf(parent, "type"));
  return type === "image" || type === "audio";
}

/** Adds the texts of a schema. Its descriptions can be rewritten; its names and values are read-only. */
function readSchema(
  collector: TextCollector,
  source: string,
  node: JsonNode,
  kind: TextProperties["kind"],
  name = "",
  isValue = false,
): void {
  if (node.kind === "array") {
    for (const item of node.items) readSchema(collector, source, item, kind, name, isValue);
    return;
  }
  if (node.kind === "object") {
    for (const member of node.members) {
      // Property names are arbitrary. The value of each property is itself a schema.
      const isPropertyMap =
        name === "properties" || name === "$defs" || name === "definitions" || name === "patternProperties";
      const own = isPropertyMap ? "" : member.name;
      readSchema(collector, source, member.value, kind, own, isValue || SCHEMA_VALUES.has(own));
    }
    return;
  }
  const text = stringIn(source, node);
  if (text === undefined) return;
  if (!isValue && (PROTOCOL_MEMBERS.has(name) || name === "required") && TOKEN.test(text)) return;
  collector.add(node, isValue || name === "required" ? { kind, ref: "name", isReadOnly: true } : plain(kind));
}
