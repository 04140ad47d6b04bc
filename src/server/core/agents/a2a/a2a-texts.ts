/** Finds the texts of A2A requests and answers, and rewrites them. Source: design decisions, section 11. */
import { type JsonNode, memberOf, parseJsonTree, stringIn } from "../../dialects/index.ts";
import { TextCollector, type TextProperties } from "../text-collector.ts";
import type { AgentTexts } from "../types.ts";
import type { A2aRequest } from "./read-a2a-request.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Members with ids and enumerated values of the protocol. They are skipped only if the value is a short token. */
const PROTOCOL_MEMBERS = words(
  "jsonrpc id method messageId contextId taskId artifactId role state status timestamp mediaType referenceTaskIds kind " +
    "reason domain @type tenant acceptedOutputModes mimeType",
);
const OPAQUE_MEMBERS = words("pageToken nextPageToken");
const URI_MEMBERS = words("url uri extensions");
const FREE_FORM_MEMBERS = words("data metadata");
const TOKEN = /^[\w.:/+*@-]{1,256}$/;

/** Segment kinds of a message's texts: `text` for `text` members, `other` for all other strings. */
interface SegmentKinds {
  readonly text: TextProperties["kind"];
  readonly other: TextProperties["kind"];
  readonly isArgument?: boolean;
}

const REQUEST_KINDS: SegmentKinds = { text: "user", other: "tool_args" };
const ANSWER_KINDS: SegmentKinds = { text: "output", other: "output" };

/** Returns the texts of a request. Throws `TooManyTexts`. */
export function a2aRequestTexts({ envelope, params, isKnown }: A2aRequest): AgentTexts {
  const collector = new TextCollector(envelope.text);
  readA2aParams(collector, envelope.text, isKnown, params);
  return collector.toTexts();
}

/** Adds the texts of a request's parameters to the collector. Throws `TooManyTexts`. */
export function readA2aParams(
  collector: TextCollector,
  source: string,
  isKnown: boolean,
  params: JsonNode | undefined,
): void {
  if (params === undefined) return;
  if (isKnown) readMember(collector, source, "", params, REQUEST_KINDS, undefined);
  else collector.addAll(params, plain("tool_args"));
}

/** Reads a response, whole or as one event of a stream. Returns `undefined` if it is not JSON. Throws `TooManyTexts`. */
export function a2aAnswerTexts(message: string): AgentTexts | undefined {
  const root = parseJsonTree(message);
  if (root === undefined) return undefined;
  const collector = new TextCollector(message);
  const error = memberOf(root, "error");
  // The details of an error have no defined form, so every string is read.
  if (error !== undefined) collector.addAll(error, plain("output"));
  else readMember(collector, message, "", root, ANSWER_KINDS, undefined);
  return collector.toTexts();
}

/** Returns whether a response is of A2A 0.3, whose objects have a `kind`. */
export function isLegacyAnswer(message: string): boolean {
  return stringIn(message, memberOf(memberOf(parseJsonTree(message), "result"), "kind")) !== undefined;
}

function readMember(
  collector: TextCollector,
  source: string,
  name: string,
  node: JsonNode,
  kinds: SegmentKinds,
  parent: JsonNode | undefined,
): void {
  if (OPAQUE_MEMBERS.has(name)) return;
  if (node.kind === "array") {
    const itemKinds = name === "parts" ? { ...kinds, isArgument: true } : kinds;
    for (const item of node.items) readMember(collector, source, name, item, itemKinds, parent);
    return;
  }
  if (FREE_FORM_MEMBERS.has(name)) {
    collector.addAll(node, plain(kinds.other, kinds.isArgument));
    return;
  }
  if (node.kind === "object") {
    for (const member of node.members) readMember(collector, source, member.name, member.value, kinds, node);
    return;
  }
  // The member is called `raw` in 1.0 and `bytes` in 0.3.
  if (name === "raw" || name === "bytes") {
    const mediaType = stringIn(source, memberOf(parent, name === "raw" ? "mediaType" : "mimeType")) ?? "";
    collector.addEncoded(node, mediaType, plain(kinds.other, kinds.isArgument));
    return;
  }
  const text = stringIn(source, node);
  if (text === undefined || (PROTOCOL_MEMBERS.has(name) && TOKEN.test(text))) return;
  if (URI_MEMBERS.has(name)) collector.add(node, { kind: kinds.other, ref: "uri", isReadOnly: true });
  else collector.add(node, plain(name === "text" ? kinds.text : kinds.other, kinds.isArgument));
}

const plain = (kind: TextProperties["kind"], isArgument = false): TextProperties => ({
  kind,
  ref: "",
  isReadOnly: false,
  isArgument,
});
