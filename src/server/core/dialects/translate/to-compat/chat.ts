/** Types of a compat request, and of the functions that build it. Source: dialects reference, 3.1. */
import type { JsonSource } from "../../json/json-source.ts";
import type { ChannelTerms } from "../types.ts";
import type { ToolNames } from "./short-tool-names.ts";

export interface Scope {
  readonly source: JsonSource;
  readonly claims: ChannelTerms["claims"];
  readonly names: ToolNames;
  readonly signsCalls: ChannelTerms["signsCalls"];
}

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly Part[] | null;
  readonly reasoning_content?: string | undefined;
  readonly reasoning_details?: readonly object[] | undefined;
  readonly tool_calls?: readonly object[] | undefined;
  readonly tool_call_id?: string;
}

/** Turn of one side: the dialect treats consecutive messages of one role as one. */
export interface Turn {
  readonly role: "user" | "assistant";
  /** Adds the content of another message of the turn. */
  add(content: unknown, place: string): void;
  /** Returns the messages of the turn; empty if there is nothing to send. */
  messages(): readonly ChatMessage[];
}

export type Part = TextPart | ImagePart | FilePart;

interface Markable {
  /** Mark, set if the client marked the block for the cache; removed again if there are more marks than the provider keeps. */
  prompt_cache_breakpoint: CacheBreakpoint | undefined;
}

export interface CacheBreakpoint {
  readonly mode: "explicit";
}

export interface TextPart extends Markable {
  readonly type: "text";
  readonly text: string;
}

export interface ImagePart extends Markable {
  readonly type: "image_url";
  readonly image_url: { readonly url: string };
}

interface FilePart extends Markable {
  readonly type: "file";
  readonly file: { readonly filename: string; readonly file_data: string };
}
