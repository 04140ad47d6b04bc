/**
 * Converts content blocks of the messages dialect to parts of a compat message. Source: dialects reference, 8.4 and 8.6.
 *
 * A block without a counterpart gives no part, since the guard has reported it. An empty text gives none either, since
 * providers refuse it.
 */
import { objectOf, type Values } from "../../json/json-values.ts";
import { optionalText, requiredList, requiredObject, requiredText } from "../required-members.ts";
import type { CacheBreakpoint, ImagePart, Part, Scope, TextPart } from "./chat.ts";

const BREAKPOINT: CacheBreakpoint = { mode: "explicit" };

const PDF = "application/pdf";
const DEFAULT_FILENAME = "document.pdf";

/** Returns the block's type. */
export function typeOf(block: Values, place: string): string {
  return requiredText(block["type"], `${place}.type`);
}

/** Returns a text, an image or a document, or `undefined` if nothing of the block can be sent. */
export function partOf(block: Values, place: string, scope: Scope): Part | undefined {
  switch (typeOf(block, place)) {
    case "text":
      return textPart(block, place, scope);
    case "image":
      return imagePart(block, place, scope);
    case "document":
      return documentPart(block, place, scope);
    default:
      return undefined;
  }
}

export function textPart(block: Values, place: string, scope: Scope): TextPart | undefined {
  return textPartOf(requiredText(block["text"], `${place}.text`), breakpointOf(block, scope));
}

/** Returns the texts of a list without other blocks, such as a system prompt. */
export function textParts(content: unknown, place: string, scope: Scope): readonly TextPart[] {
  const parts: TextPart[] = [];
  for (const [index, item] of requiredList(content, place).entries()) {
    const at = `${place}[${index}]`;
    const block = requiredObject(item, at);
    const part = typeOf(block, at) === "text" ? textPart(block, at, scope) : undefined;
    if (part !== undefined) parts.push(part);
  }
  return parts;
}

export function textPartOf(text: string, breakpoint?: CacheBreakpoint): TextPart | undefined {
  return text === "" ? undefined : { type: "text", text, prompt_cache_breakpoint: breakpoint };
}

function imagePart(block: Values, place: string, scope: Scope): ImagePart | undefined {
  const url = imageUrl(requiredObject(block["source"], `${place}.source`), `${place}.source`);
  if (url === undefined || !scope.claims("vision")) return undefined;
  return { type: "image_url", image_url: { url }, prompt_cache_breakpoint: breakpointOf(block, scope) };
}

function imageUrl(source: Values, place: string): string | undefined {
  switch (source["type"]) {
    case "base64":
      return dataUri(source, place);
    case "url":
      return requiredText(source["url"], `${place}.url`);
    default:
      return undefined;
  }
}

function documentPart(block: Values, place: string, scope: Scope): Part | undefined {
  const source = requiredObject(block["source"], `${place}.source`);
  const breakpoint = breakpointOf(block, scope);
  switch (source["type"]) {
    // Text needs no claim, since every provider accepts it.
    case "text":
      return textPartOf(requiredText(source["data"], `${place}.source.data`), breakpoint);
    case "base64": {
      const filename = optionalText(block["title"], `${place}.title`) || DEFAULT_FILENAME;
      const file = { filename, file_data: dataUri(source, `${place}.source`) };
      if (source["media_type"] !== PDF || !scope.claims("documents")) return undefined;
      return { type: "file", file, prompt_cache_breakpoint: breakpoint };
    }
    default:
      return undefined;
  }
}

function dataUri(source: Values, place: string): string {
  const mediaType = requiredText(source["media_type"], `${place}.media_type`);
  return `data:${mediaType};base64,${requiredText(source["data"], `${place}.data`)}`;
}

function breakpointOf(block: Values, { claims }: Scope): CacheBreakpoint | undefined {
  return objectOf(block["cache_control"]) !== undefined && claims("prompt_caching") ? BREAKPOINT : undefined;
}
