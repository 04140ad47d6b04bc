/**
 * Layouts of stream events: where an event carries texts, and which texts it ends. Paths are those of the whole answer
 * (`choices.0.delta…` for its deltas), so that a repeated text is recognized by its path. Source: dialects reference, 3.4, 5.3;
 * responses, 6.
 */
import type { Dialect } from "../routes/routes.ts";
import { repeatsRequest } from "./answer-strings.ts";
import { indexIn, type JsonNode, memberOf, stringIn } from "./positioned-json.ts";

export interface Layout {
  readonly type: string;
  readonly walks: readonly Walk[];
  /** Path prefixes of the texts that end with this event. */
  readonly endedPaths: readonly string[];
}

interface Walk {
  readonly node: JsonNode;
  readonly path: string;
  /**
   * How the strings below are read. `piece`: more of the same text may follow; `whole`: none does. `chunk`, `block`, `other`:
   * the path of each string decides; there a whole text may still grow, since clients may join texts of unknown forms.
   */
  readonly mode: "piece" | "arguments" | "whole" | "media" | "chunk" | "block" | "other";
}

/** Names of members that contain text in events of an unknown form. */
const TEXT_MEMBERS: ReadonlySet<string> = new Set([
  ..."content text refusal reasoning reasoning_content thinking arguments summary transcript completion".split(" "),
  ..."response output output_text generated_text".split(" "),
]);
/**
 * Matches texts of blocks that deltas continue. Other strings of a block are complete when it begins: a rest could only be sent
 * by beginning the block again.
 */
export const BLOCK_TEXT_PATH = /^content\.\d+\.(?:text|thinking|input|content)$/;
/** Matches paths of items that clients append to a list, so that their strings do not continue earlier ones. */
const APPENDED_PATH = /\.\+\d|!/;

/** Returns whether clients join the string with those at the same path in later events. */
export function isPiece(as: Walk["mode"], path: string): boolean {
  if (as === "piece" || as === "arguments" || as === "media") return true;
  if (as === "whole" || APPENDED_PATH.test(path)) return false;
  if (as === "chunk") return /^choices\.\d+\.(?:text$|(?:delta|message)\.)/.test(path);
  if (as === "block") return BLOCK_TEXT_PATH.test(path);
  return /(?:^|\.)delta\./.test(path) || TEXT_MEMBERS.has(path.slice(path.lastIndexOf(".") + 1));
}

/**
 * Returns the layout of an event with the name `event`. Clients stop reading at an error, so it ends every text.
 * `itemIndexes` has the index of each item in the answer by the item's id, for items that an earlier event named.
 */
export function layoutOf(
  dialect: Dialect,
  event: string,
  text: string,
  root: JsonNode,
  itemIndexes: Map<string, number>,
): Layout {
  const layout = layoutWithin(dialect, text, root, itemIndexes);
  return event === "error" || hasError(root) ? { ...layout, endedPaths: ALL_PATHS } : layout;
}

/** Returns whether the event has a member `error` that clients take for an error. Other chunks may have an empty one. */
function hasError(root: JsonNode): boolean {
  const error = memberOf(root, "error");
  if (error?.kind === "object") return error.members.length > 0;
  return error?.kind === "string" && error.end - error.start > EMPTY_STRING.length;
}

const EMPTY_STRING = '""';

function layoutWithin(dialect: Dialect, text: string, root: JsonNode, itemIndexes: Map<string, number>): Layout {
  const type = stringIn(text, memberOf(root, "type")) ?? "";
  if (dialect === "messages") return messagesLayout(type, text, root);
  if (type !== "" && memberOf(root, "choices") === undefined) return typedLayout(type, text, root, itemIndexes);
  const choices = memberOf(root, "choices");
  if (choices === undefined) return otherLayout(text, root);
  const items = choices.kind === "array" ? choices.items : [];
  const ends = items.flatMap((choice, i) => {
    const hasEnded = (stringIn(text, memberOf(choice, "finish_reason")) ?? "") !== "";
    return hasEnded ? [`choices.${indexIn(text, memberOf(choice, "index")) ?? i}.`] : [];
  });
  return { type, walks: [{ node: root, path: "", mode: "chunk" }], endedPaths: ends };
}

const ALL_PATHS = [""];

/**
 * Returns the layout of an event that has neither a type nor choices. Streams of assistant runs send deltas of an object, and
 * then the whole object.
 */
function otherLayout(text: string, root: JsonNode): Layout {
  const id = stringIn(text, memberOf(root, "id")) ?? "";
  const isDelta = memberOf(root, "delta") !== undefined;
  const path = isDelta ? id : "";
  return { type: "", walks: [{ node: root, path, mode: "other" }], endedPaths: isDelta || id === "" ? [] : [`${id}.`] };
}

const MESSAGE_EVENTS: ReadonlySet<string> = new Set(
  "message_start message_delta message_stop content_block_start content_block_delta ping error".split(" "),
);

function messagesLayout(type: string, text: string, root: JsonNode): Layout {
  const block = `content.${indexIn(text, memberOf(root, "index")) ?? 0}`;
  const delta = memberOf(root, "delta");
  const start = memberOf(root, "content_block");
  if (type === "content_block_start" && start !== undefined) {
    return { type, walks: [{ node: start, path: block, mode: "block" }], endedPaths: [] };
  }
  if (type === "content_block_delta" && delta !== undefined) {
    const walks: Walk[] = [];
    const ends: string[] = [];
    for (const { name, value } of delta.kind === "object" ? delta.members : []) {
      if (name === "partial_json") walks.push({ node: value, path: `${block}.input`, mode: "arguments" });
      // A citation arrives whole, and another one may follow.
      else
        walks.push({
          node: value,
          path: `${block}.${name.toLowerCase()}`,
          mode: /^citations?$/i.test(name) ? "whole" : "piece",
        });
      if (name === "signature") ends.push(`${block}.thinking`);
    }
    return { type, walks, endedPaths: ends };
  }
  if (type === "content_block_stop") return { type, walks: [], endedPaths: [`${block}.`] };
  const ends = ["message_delta", "message_stop", "error"].includes(type) ? ALL_PATHS : [];
  // The oldest form of answers (`completion`) has no blocks.
  const as = type === "" || type === "completion" || !MESSAGE_EVENTS.has(type) ? "other" : "whole";
  return { type, walks: [{ node: root, path: "", mode: as }], endedPaths: ends };
}

/** Matches the last part of the type of an event about one text. */
const TEXT_EVENT_SUFFIX = /\.(?:delta|done|(?<=transcription\.)completed)$/;
const RESPONSE_END = /^(?:error|response\.(?:completed|failed|incomplete|cancelled|done))$/;
const PATH_BY_EVENT: Readonly<Record<string, string>> = {
  "response.output_text": "content.*.text",
  "response.text": "content.*.text",
  "response.output_audio_transcript": "content.*.transcript",
  "response.audio_transcript": "content.*.transcript",
  "conversation.item.input_audio_transcription": "content.*.transcript",
  "response.refusal": "content.*.refusal",
  "response.reasoning_text": "content.*.text",
  "response.reasoning_summary_text": "summary.*.text",
  "response.function_call_arguments": "arguments",
  "response.mcp_call_arguments": "arguments",
  "response.mcp_call.arguments": "arguments",
  "response.custom_tool_call_input": "input",
  "response.code_interpreter_call_code": "code",
  "response.code_interpreter_call.code": "code",
};
const DONE_MEMBERS: ReadonlySet<string> = new Set(["text", "refusal", "arguments", "input", "code", "transcript"]);

/** Paths of the item, the part and the text that an event is about. */
interface EventPaths {
  /** Type of the event without the suffix that tells deltas from whole texts. */
  readonly base: string;
  readonly item: string;
  readonly part: string;
  readonly text: string;
}

/** Returns the layout of an event that names its type: of responses, and of the routes modeled on them. */
function typedLayout(type: string, text: string, root: JsonNode, itemIndexes: Map<string, number>): Layout {
  const paths = eventPathsOf(type, text, root, itemIndexes);
  const walks: Walk[] = [];
  for (const { name, value } of root.kind === "object" ? root.members : []) addWalks(walks, name, value, type, paths);
  return { type, walks, endedPaths: endedPathsOf(type, paths) };
}

function eventPathsOf(type: string, text: string, root: JsonNode, itemIndexes: Map<string, number>): EventPaths {
  const item = `output.${itemIndex(text, root, indexIn(text, memberOf(root, "output_index")), itemIndexes)}`;
  const contentIndex = indexIn(text, memberOf(root, "content_index"));
  const index = String(contentIndex ?? indexIn(text, memberOf(root, "summary_index")) ?? 0);
  const base = type.replace(TEXT_EVENT_SUFFIX, "");
  const list = base.includes("summary") ? "summary" : "content";
  const textPath = (PATH_BY_EVENT[base] ?? base.replaceAll(".", "_")).replace("*", index);
  return { base, item, part: `${item}.${list}.${index}`, text: `${item}.${textPath}` };
}

/** Returns whether the event has the whole text that earlier deltas sent in pieces. */
const isTextDone = (type: string): boolean => TEXT_EVENT_SUFFIX.test(type) && !type.endsWith(".delta");

/** Adds the walks for a member of an event. */
function addWalks(walks: Walk[], name: string, node: JsonNode, type: string, paths: EventPaths): void {
  if (name === "delta") walks.push({ node, path: paths.text, mode: deltaMode(paths) });
  else if (DONE_MEMBERS.has(name) && isTextDone(type)) walks.push({ node, path: paths.text, mode: "whole" });
  else if (name === "part") walks.push({ node, path: paths.part, mode: "whole" });
  else if (name === "item") walks.push({ node, path: paths.item, mode: "whole" });
  else if (node.kind === "object" && (name === "response" || name === "session")) addResponseWalks(walks, name, node);
  else if (node.kind === "array" && name === "logprobs")
    walks.push({ node, path: `${paths.text}.${name}`, mode: "whole" });
  else if (type.endsWith("delta")) walks.push({ node, path: `${paths.text}.${name}`, mode: "piece" });
  else walks.push({ node, path: name, mode: "whole" });
}

function deltaMode({ base, text }: EventPaths): Walk["mode"] {
  if (/audio$/.test(base)) return "media";
  return text.endsWith(".arguments") ? "arguments" : "piece";
}

/** Adds the walks for the members of a response or session, without those that repeat the request. */
function addResponseWalks(walks: Walk[], name: string, response: JsonNode & { readonly kind: "object" }): void {
  for (const member of response.members) {
    if (repeatsRequest(member.name)) continue;
    const path = name === "response" && member.name === "output" ? "output" : `${name}.${member.name}`;
    walks.push({ node: member.value, path, mode: "whole" });
  }
}

function endedPathsOf(type: string, { item, part, text }: EventPaths): readonly string[] {
  if (RESPONSE_END.test(type)) return ALL_PATHS;
  if (type === "response.output_item.done") return [`${item}.`];
  if (/_part\.done$/.test(type)) return [`${part}.`];
  return isTextDone(type) ? [text] : [];
}

/** Returns the index of an item. Events of a session's conversation only name the item's id. */
function itemIndex(text: string, root: JsonNode, index: number | undefined, items: Map<string, number>): number {
  const id = stringIn(text, memberOf(root, "item_id") ?? memberOf(memberOf(root, "item"), "id"));
  if (index !== undefined && id !== undefined) items.set(id, index);
  return index ?? (id === undefined ? undefined : items.get(id)) ?? 0;
}
