/**
 * Converts the content of compat messages, a text or parts, to blocks. Source: dialects reference, 8.3.
 *
 * Content without a form at the channel gives no block: the guard has reported it, and the operator allowed the loss.
 */
import type { Values } from "../../json/json-values.ts";
import { isAbsent, optionalText, refuse, requiredObject, requiredText } from "../required-members.ts";
import { type ContentBlock, type Scope, type TextBlock, textBlock } from "./block-types.ts";
import { markOf } from "./cache-marks.ts";
import { fileDataSource, imageUrlSource, isBlank, isDocument } from "./media-sources.ts";

export function contentBlocks(content: unknown, place: string, scope: Scope): readonly ContentBlock[] {
  return blocksOf(content, place, (part, type, at): ContentBlock | undefined => {
    if (type === "image_url") return imageBlock(part, at, scope);
    return type === "file" ? fileBlock(part, at, scope) : textPart(part, type, at, scope);
  });
}

/** Returns the text blocks of the content, for a place where the messages dialect only allows text. */
export function textBlocks(content: unknown, place: string, scope: Scope): readonly TextBlock[] {
  return blocksOf(content, place, (part, type, at) => textPart(part, type, at, scope));
}

function blocksOf<Of extends ContentBlock>(
  content: unknown,
  place: string,
  blockOf: (part: Values, type: string, at: string) => Of | undefined,
): readonly (Of | TextBlock)[] {
  if (isAbsent(content)) return [];
  if (typeof content === "string") return isBlank(content) ? [] : [textBlock(content)];
  if (!Array.isArray(content)) return refuse(place, "must be a string or an array");
  const blocks: (Of | TextBlock)[] = [];
  for (const [index, item] of content.entries()) {
    const at = `${place}[${index}]`;
    const part = requiredObject(item, at);
    const block = blockOf(part, requiredText(part["type"], `${at}.type`), at);
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

/** Returns the text block of a text or of a refusal, which is text from the model. */
function textPart(part: Values, type: string, at: string, scope: Scope): TextBlock | undefined {
  if (type !== "text" && type !== "refusal") return undefined;
  const text = requiredText(part[type], `${at}.${type}`);
  return isBlank(text) ? undefined : textBlock(text, markOf(part, scope));
}

/** Returns the block of an image. Some clients send the URL without the object around it. */
function imageBlock(part: Values, at: string, scope: Scope): ContentBlock | undefined {
  const image = part["image_url"];
  const url = typeof image === "string" ? image : requiredObject(image, `${at}.image_url`)["url"];
  const source = imageUrlSource(requiredText(url, `${at}.image_url.url`));
  if (source === undefined) return undefined;
  const cache_control = markOf(part, scope);
  if (isDocument(source)) {
    return scope.claims("documents") ? { type: "document", source, title: undefined, cache_control } : undefined;
  }
  return scope.claims("vision") ? { type: "image", source, cache_control } : undefined;
}

function fileBlock(part: Values, at: string, scope: Scope): ContentBlock | undefined {
  const file = requiredObject(part["file"], `${at}.file`);
  const fileData = optionalText(file["file_data"], `${at}.file.file_data`);
  const source = fileData === undefined ? undefined : fileDataSource(fileData);
  if (source === undefined || !scope.claims("documents")) return undefined;
  const title = optionalText(file["filename"], `${at}.file.filename`) || undefined;
  return { type: "document", source, title, cache_control: markOf(part, scope) };
}
