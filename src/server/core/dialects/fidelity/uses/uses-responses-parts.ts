/** Reads the content of an item: texts, images, files and audio. Source: responses reference, 3.3. */

import { listOf, objectOf, type Values } from "../../json/json-values.ts";
import type { Form } from "../../routes/routes.ts";
import { dataUriType, fileUri, isHttpsUrl, isKnownImageType, isText } from "../dialect-forms.ts";
import { RESPONSE } from "../known-response-fields.ts";
import type { UseList } from "./use-list.ts";

export interface PartReading {
  readonly uses: UseList;
  readonly to: Form;
  /** Whether the channel's form allows more than text in this place. */
  readonly takesMedia: boolean;
}

/** Reads the parts. Returns whether any of them is media. */
export function readParts(list: "content" | "output", content: unknown, reading: PartReading): boolean {
  const { uses } = reading;
  const parts = listOf(content);
  let hasMedia = false;
  for (let index = 0; index < parts.length; index += 1) {
    const part = objectOf(parts[index]);
    if (part === undefined) continue;
    uses.enterPart(list, index);
    hasMedia = readPart(part, reading) || hasMedia;
  }
  uses.leavePart();
  return hasMedia;
}

function readPart(part: Values, { uses, to, takesMedia }: PartReading): boolean {
  uses.addCacheMark(part.prompt_cache_breakpoint, "");
  switch (part.type) {
    case "input_text":
    case "text":
    case "summary_text":
    case "reasoning_text":
      uses.checkMembers(part, RESPONSE.inputText);
      return false;
    case "output_text":
      uses.checkMembers(part, RESPONSE.outputText);
      if (listOf(part.annotations).length > 0) uses.add("citation_replay", "annotations");
      return false;
    case "refusal":
      uses.checkMembers(part, RESPONSE.refusal);
      return false;
    case "input_image":
      uses.checkMembers(part, RESPONSE.image);
      readImage(part, to, takesMedia, uses);
      return true;
    case "input_file":
      uses.checkMembers(part, RESPONSE.file);
      readFile(part, to, takesMedia, uses);
      return true;
    case "input_audio":
      uses.checkMembers(part, RESPONSE.audio);
      uses.add("audio_input", "input_audio");
      if (!takesMedia) uses.lose("audio_input", "input_audio");
      return true;
    default:
      uses.lose("unknown_field", "type");
      return false;
  }
}

/** Reads an image. Its default `detail` is `auto`; `original` exceeds the maximum of chat completions. */
function readImage(part: Values, to: Form, takesMedia: boolean, uses: UseList): void {
  const { detail } = part;
  if (isText(detail) && detail !== "auto" && (to === "messages" || detail === "original")) uses.lose("hint", "detail");
  const url = objectOf(part.image_url)?.url ?? part.image_url;
  if (!isText(url)) {
    if (isText(part.file_id)) uses.add("file_refs", "file_id");
    return;
  }
  const type = dataUriType(url);
  const capability = type === "application/pdf" && to === "messages" ? "documents" : "vision";
  uses.add(capability, "image_url");
  const isKnown = type === undefined ? isHttpsUrl(url) : type === "application/pdf" || isKnownImageType(type);
  if (!takesMedia || (to === "messages" && !isKnown)) uses.lose(capability, "image_url");
}

function readFile(part: Values, to: Form, takesMedia: boolean, uses: UseList): void {
  const { file_data: data, file_url: url, file_id: id } = part;
  const place = isText(data) ? "file_data" : "file_url";
  if (!isText(data) && !isText(url)) {
    if (isText(id)) uses.add("file_refs", "file_id");
    return;
  }
  uses.add("documents", place);
  const isSendable = isText(data)
    ? isSendableFile(fileUri(data, part.filename), to)
    : to === "messages" && isText(url) && isHttpsUrl(url);
  if (!isSendable || !takesMedia) uses.lose("documents", place);
}

function isSendableFile(uri: string | undefined, to: Form): boolean {
  if (uri === undefined || to === "chat") return uri !== undefined;
  const type = dataUriType(uri);
  return type === "application/pdf" || type === "text/plain";
}
