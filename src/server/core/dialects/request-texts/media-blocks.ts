/** Reads blocks with images, audio, video and files: which of their strings are texts, and which are only counted. */
import { isUtf8 } from "node:buffer";
import { decoded } from "../routes/name-readings.ts";
import { formPattern, uninspectedNames } from "../uninspected.ts";
import type { Collector, Context } from "./collector.ts";
import { type Node, type ObjectNode, type StringNode, spotOf, stringIn, uniqueString } from "./text-tree.ts";
import { utf16In } from "./utf16.ts";

/** Kind of media by block type. */
export const MEDIA_BLOCKS: ReadonlyMap<string, string> = new Map([
  ["image", "image"],
  ["image_url", "image"],
  ["input_image", "image"],
  ["image_file", "image"],
  ["computer_screenshot", "image"],
  ["image_generation_call", "image"],
  ["audio", "audio"],
  ["input_audio", "audio"],
  ["output_audio", "audio"],
  ["audio_url", "audio"],
  ["video", "video"],
  ["video_url", "video"],
  ["input_video", "video"],
  ["document", "file"],
  ["file", "file"],
  ["input_file", "file"],
  ["container_upload", "file"],
]);

/** Members of such a block that contain the media, or an object that does. */
const MEDIA_MEMBERS: ReadonlySet<string> = new Set([
  ...uninspectedNames("media", "media"),
  ...uninspectedNames("media", "address"),
]);
/** Members that contain bare base64, or an address. */
const ENCODED_MEMBERS = uninspectedNames("media", "media");
const BASE64 = formPattern("media");
const ADDRESS = formPattern("address");
/** Pattern of the values of members that name the media type. */
const TYPE_FORM = formPattern("type");
const TYPE_MEMBERS = uninspectedNames("media", "type");

const DATA_URL = /^data:([^,;]{0,128})((?:;[^,;]{0,128}){0,8}),/i;
const TEXT_TYPE = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|x-ndjson|jsonl)$|image\/svg)/i;

/** Reads a member of a block with media of the kind `mediaKind`. `readOther` reads members without media. */
export function readMediaMembers(
  collector: Collector,
  block: ObjectNode,
  mediaKind: string,
  context: Context,
  readOther: (name: string, value: Node) => void,
): void {
  const sourceType = uniqueString(block, "type");
  const mediaType = uniqueString(block, "media_type") ?? uniqueString(block, "mime_type") ?? "";
  for (const { name, value } of block.members) {
    if (TYPE_MEMBERS.has(name) && value.kind === "string" && TYPE_FORM.test(stringIn(value))) {
      if (name === "file_id") collector.uninspected.push(mediaKind);
    } else if (!MEDIA_MEMBERS.has(name) || (sourceType === "text" && name === "data")) {
      readOther(name, value);
    } else if (value.kind === "string") {
      readString(collector, value, { name, what: mediaKind, mediaType }, context);
    } else if (value.kind === "object") {
      readMediaMembers(collector, value, mediaKind, context, readOther);
    } else {
      readOther(name, value);
    }
  }
}

interface MediaMember {
  /** Name of the member that contains the medium. */
  readonly name: string;
  readonly what: string;
  readonly mediaType: string;
}

/** Reads a string of media. A string that is neither an address nor encoded data is a text. */
function readString(collector: Collector, node: StringNode, carried: MediaMember, context: Context): void {
  const { name, what, mediaType } = carried;
  const text = stringIn(node);
  const [head, type = "", parameters = ""] = DATA_URL.exec(text) ?? [];
  if (head === undefined) {
    if (ADDRESS.test(text)) collector.uninspected.push(what);
    else if (!ENCODED_MEMBERS.has(name) || !BASE64.test(text)) collector.addString(node, context);
    else if (TEXT_TYPE.test(mediaType)) addEncoded(collector, node, { text, head: "", mediaKind: what }, context);
    else collector.uninspected.push(what);
    return;
  }
  const body = text.slice(head.length);
  const isText = type === "" || TEXT_TYPE.test(type);
  const isBase64 = /;\s*base64\s*$/i.test(parameters);
  if (isBase64 && BASE64.test(body)) {
    if (isText) addEncoded(collector, node, { text: body, head, mediaKind: what }, context);
    else collector.uninspected.push(/^(?:image|audio|video)(?=\/)/i.exec(type)?.[0].toLowerCase() ?? what);
  } else if (isBase64) {
    collector.addString(node, context);
  } else {
    const write = (changed: string): string => JSON.stringify(head + encodeURIComponent(changed.toWellFormed()));
    collector.add(decoded(body), { ...spotOf(node), write }, context);
  }
}

interface EncodedMedia {
  readonly text: string;
  /** Part of the string before the encoded data, such as the head of a data URL. */
  readonly head: string;
  readonly mediaKind: string;
}

function addEncoded(
  collector: Collector,
  node: StringNode,
  { text, head, mediaKind: what }: EncodedMedia,
  context: Context,
): void {
  const bytes = Buffer.from(text, "base64");
  const write = (changed: string): string => JSON.stringify(head + Buffer.from(changed).toString("base64"));
  const utf16 = utf16In(bytes);
  if (utf16 !== undefined) {
    const encoded = (changed: string): string => JSON.stringify(head + utf16.encode(changed).toString("base64"));
    collector.add(utf16.text, { ...spotOf(node), write: encoded }, context);
  } else if (isUtf8(bytes)) collector.add(bytes.toString("utf8"), { ...spotOf(node), write }, context);
  // If the charset is unknown, the ASCII characters are read, and a change is written as UTF-8.
  else if (!bytes.includes(0)) collector.add(bytes.toString("latin1"), { ...spotOf(node), write }, context);
  else collector.uninspected.push(what);
}
