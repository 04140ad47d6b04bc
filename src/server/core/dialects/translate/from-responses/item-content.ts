/**
 * Reads the content of an item: a text, or parts. Content that cannot be sent to any provider gives no part. Source: responses
 * reference, 3.3.
 */
import { fileUri } from "../../fidelity/dialect-forms.ts";
import { objectOf, type Values } from "../../json/json-values.ts";
import { isAbsent, optionalText, refuse, requiredList, requiredObject, requiredText } from "../required-members.ts";
import type { AssistantText, Content, FilePart, ImagePart, Part } from "./item-conversation.ts";

/** Returns the content. `place` is the content's path. */
export function contentOf(content: unknown, place: string): Content {
  if (isAbsent(content)) return [];
  return typeof content === "string" ? content : partsOf(content, place, partOf);
}

/** Returns the texts and refusals of an assistant message. */
export function assistantTexts(content: unknown, place: string): readonly AssistantText[] {
  if (isAbsent(content)) return [];
  if (typeof content === "string") return [{ kind: "text", text: content, isRefusal: false }];
  return partsOf(content, place, assistantText);
}

function partsOf<Of>(
  content: unknown,
  place: string,
  read: (part: Values, type: string, at: string) => Of | undefined,
): readonly Of[] {
  if (!Array.isArray(content)) refuse(place, "must be a string or an array");
  const parts: Of[] = [];
  for (const [index, item] of requiredList(content, place).entries()) {
    const at = `${place}[${index}]`;
    const value = requiredObject(item, at);
    const part = read(value, requiredText(value["type"], `${at}.type`), at);
    if (part !== undefined) parts.push(part);
  }
  return parts;
}

function assistantText(part: Values, type: string, at: string): AssistantText | undefined {
  const isRefusal = type === "refusal";
  if (!isRefusal && !isTextType(type)) return undefined;
  return {
    kind: "text",
    text: requiredText(isRefusal ? part["refusal"] : part["text"], `${at}.${isRefusal ? type : "text"}`),
    isRefusal,
  };
}

function isTextType(type: string): boolean {
  return (
    type === "input_text" ||
    type === "output_text" ||
    type === "text" ||
    type === "summary_text" ||
    type === "reasoning_text"
  );
}

function partOf(part: Values, type: string, at: string): Part | undefined {
  const marked = part["prompt_cache_breakpoint"];
  switch (type) {
    case "input_image":
      return imageOf(part, at, marked);
    case "input_file":
      return fileOf(part, at, marked);
    case "input_audio":
      return { kind: "audio", audio: requiredObject(part["input_audio"], `${at}.input_audio`), marked };
    case "refusal":
      return { kind: "text", text: requiredText(part["refusal"], `${at}.refusal`), marked };
    default:
      return isTextType(type) ? { kind: "text", text: requiredText(part["text"], `${at}.text`), marked } : undefined;
  }
}

/** Reads an image. Some clients send the object of the older form. An image that is stored at the provider gives no part. */
function imageOf(part: Values, at: string, marked: unknown): ImagePart | undefined {
  const value = part["image_url"];
  const url = optionalText(objectOf(value)?.["url"] ?? value, `${at}.image_url`);
  if (!url) return undefined;
  return { kind: "image", url, detail: optionalText(part["detail"], `${at}.detail`) || undefined, marked };
}

function fileOf(part: Values, at: string, marked: unknown): FilePart | undefined {
  const name = optionalText(part["filename"], `${at}.filename`) || undefined;
  const data = optionalText(part["file_data"], `${at}.file_data`);
  const url = optionalText(part["file_url"], `${at}.file_url`);
  if (data) {
    const uri = fileUri(data, name);
    return uri === undefined ? undefined : { kind: "file", name, data: uri, url: undefined, marked };
  }
  return url ? { kind: "file", name, data: undefined, url, marked } : undefined;
}
