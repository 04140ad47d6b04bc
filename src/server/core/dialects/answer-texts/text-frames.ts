/** Builds frames for text that was held back, and checks whether a frame carries anything besides text. */
import type { Dialect } from "../routes/routes.ts";
import { BLOCK_TEXT_PATH } from "./layouts.ts";
import { type JsonNode, memberOf, parseJsonTree, stringIn } from "./positioned-json.ts";

/** Last frame with a text, and the offset of the text in its data. */
export interface FrameTemplate {
  readonly data: string;
  readonly start: number;
  /** Name of the frame's event; empty if it has none. */
  readonly event: string;
  /** Parts of the frame before and after the text; cached if the frame has no number. */
  frame?: { readonly event: string; readonly before: string; readonly after: string } | undefined;
}

interface FrameNumbers {
  /** Sequence number of the frame; only streams of `responses` have one. */
  readonly sequence: number | undefined;
  /** Serial number among all inserted frames, from 1. */
  readonly serial: number;
}

/** Returns the data of a frame that carries only `text`. */
export function frameOf(
  dialect: Dialect,
  path: string,
  template: FrameTemplate,
  text: string,
  numbers: FrameNumbers,
): { readonly event: string; readonly data: string } {
  if (dialect === "messages" && BLOCK_TEXT_PATH.test(path))
    return { event: "content_block_delta", data: blockDelta(path, text) };
  const json = JSON.stringify(text);
  const cached = template.frame;
  if (cached !== undefined && numbers.sequence === undefined)
    return { event: cached.event, data: `${cached.before}${json}${cached.after}` };
  const root = parseJsonTree(template.data);
  const event = stringIn(template.data, memberOf(root, "type")) ?? template.event;
  if (root === undefined) return { event, data: "{}" };
  const data = skeleton(template, root, json, numbers);
  const isNumbered = ["sequence_number", "event_id"].some((name) => memberOf(root, name) !== undefined);
  if (!isNumbered) template.frame = frameAround(template, root, event, numbers);
  return { event, data };
}

/** Returns the parts of a frame before and after its text, which are the same for every text. */
function frameAround(
  template: FrameTemplate,
  root: JsonNode,
  event: string,
  numbers: FrameNumbers,
): FrameTemplate["frame"] {
  const [empty, sample] = ['""', '"x"'].map((json) => skeleton(template, root, json, numbers));
  if (empty === undefined || sample === undefined || sample.length !== empty.length + 1) return undefined;
  let at = 0;
  while (at < empty.length && empty[at] === sample[at]) at++;
  return { event, before: empty.slice(0, at - 1), after: empty.slice(at + 1) };
}

/** Returns a delta of a block's text, since the last frame may be the one that begins the block. */
function blockDelta(path: string, text: string): string {
  const [, index, name = "text"] = path.split(".");
  const delta =
    name === "input"
      ? { type: "input_json_delta", partial_json: text }
      : { type: name === "content" ? "compaction_delta" : `${name}_delta`, [name]: text };
  return JSON.stringify({ type: "content_block_delta", index: Number(index), delta });
}

/**
 * Returns the frame's JSON reduced to its text. It keeps `index` and `type` on the path to the text, and at the top level every
 * member that is not a list, an object or the usage.
 */
function skeleton(
  { data, start }: FrameTemplate,
  root: JsonNode,
  json: string,
  { sequence, serial }: FrameNumbers,
): string {
  const reduced = (node: JsonNode, level: number): string => {
    if (node.start === start && node.kind === "string") return json;
    if (node.kind === "array") {
      const item = node.items.find((each) => each.start <= start && start < each.end);
      return item === undefined ? "[]" : `[${reduced(item, level + 1)}]`;
    }
    if (node.kind !== "object") return data.slice(node.start, node.end);
    const members = node.members.flatMap(({ name, value }) => {
      const written = JSON.stringify(name);
      if (value.start <= start && start < value.end) return [`${written}:${reduced(value, level + 1)}`];
      if (name === "finish_reason") return [`${written}:null`];
      if (name === "logprobs") return [`${written}:${level === 0 ? "[]" : "null"}`];
      if (name === "sequence_number" && level === 0 && sequence !== undefined) return [`${written}:${sequence}`];
      // Event ids are unique within a session.
      if (name === "event_id" && level === 0 && value.kind === "string")
        return [`${written}:${JSON.stringify(`${stringIn(data, value) ?? ""}_${serial}`)}`];
      const isScalar = value.kind === "string" || value.kind === "scalar";
      const isKept = name === "index" || name === "type" || (level === 0 && name !== "usage" && name !== "obfuscation");
      return isScalar && isKept ? [`${written}:${data.slice(value.start, value.end)}`] : [];
    });
    return `{${members.join(",")}}`;
  };
  return reduced(root, 0);
}

const NON_CONTENT_MEMBERS: ReadonlySet<string> = new Set(["index", "type", "logprobs", "token_ids"]);

/** Returns whether a frame still carries anything for the client after the texts at `emptied` were removed. */
export function carriesMore(
  dialect: Dialect,
  type: string,
  data: string,
  root: JsonNode,
  emptied: ReadonlySet<JsonNode>,
): boolean {
  if (dialect === "messages") return type !== "content_block_delta";
  const choices = memberOf(root, "choices");
  if (choices === undefined) return !type.endsWith(".delta");
  const hasContent = (node: JsonNode, name: string): boolean => {
    if (NON_CONTENT_MEMBERS.has(name) || emptied.has(node)) return false;
    if (node.kind === "object") return node.members.some((member) => hasContent(member.value, member.name));
    if (node.kind === "array") return node.items.some((item) => hasContent(item, ""));
    const written = data.slice(node.start, node.end);
    return written !== "null" && written !== '""';
  };
  return (
    root.kind === "object" &&
    root.members.some(({ name, value }) => {
      const isTopLevelScalar = value.kind === "string" || value.kind === "scalar";
      return !isTopLevelScalar && hasContent(value, name);
    })
  );
}
