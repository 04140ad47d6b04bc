/** Types of the parts of a messages request that a compat request can express. Source: dialects reference, 5.1. */
import type { JsonSource } from "../../json/json-source.ts";
import type { ChannelTerms } from "../types.ts";

/** Context of a translation: the channel's claims, and access to the exact text of parts that pass unchanged. */
export interface Scope {
  readonly claims: ChannelTerms["claims"];
  readonly exact: JsonSource["exact"];
}

export interface CacheControl {
  readonly type: "ephemeral";
  readonly ttl: "5m" | "1h" | undefined;
}

/** Part that can have a cache mark. */
export interface Markable {
  /** Cache mark. It may be removed or lengthened once all marks of the request are known. */
  cache_control?: CacheControl | undefined;
}

export interface TextBlock extends Markable {
  readonly type: "text";
  /** Text with at least one visible character, since the API refuses blank texts. */
  readonly text: string;
}

interface UrlSource {
  readonly type: "url";
  readonly url: string;
}

export type ImageSource = { readonly type: "base64"; readonly media_type: string; readonly data: string } | UrlSource;

export type DocumentSource =
  | { readonly type: "base64"; readonly media_type: "application/pdf"; readonly data: string }
  | { readonly type: "text"; readonly media_type: "text/plain"; readonly data: string };

interface ImageBlock extends Markable {
  readonly type: "image";
  readonly source: ImageSource;
}

interface DocumentBlock extends Markable {
  readonly type: "document";
  readonly source: DocumentSource | UrlSource;
  readonly title: string | undefined;
}

export type ContentBlock = TextBlock | ImageBlock | DocumentBlock;

export interface ToolUseBlock {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export interface ToolResultBlock {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  /** Result of the tool; `undefined` if it returned nothing. */
  readonly content: string | readonly ContentBlock[] | undefined;
}

/** Thinking block. The provider that signed it refuses blocks that it did not sign. */
export type ThinkingBlock =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string };

export type Block = ContentBlock | ToolUseBlock | ToolResultBlock | ThinkingBlock;

export interface Turn {
  readonly role: "user" | "assistant" | "system";
  readonly content: string | readonly Block[];
}

export function textBlock(text: string, cacheControl?: CacheControl): TextBlock {
  return { type: "text", text, cache_control: cacheControl };
}
