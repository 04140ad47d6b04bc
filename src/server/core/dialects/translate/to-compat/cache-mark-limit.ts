/**
 * Bounds the marks for the provider's prompt cache. Source: dialects reference, 8.6.
 *
 * A provider uses the last four marks of a request, or three in addition to the one that it sets itself. The client's marks
 * state where it wants to cache, so the provider's own mark is disabled unless the client asked for one at the top level.
 */
import { objectOf, type Values } from "../../json/json-values.ts";
import type { ChatMessage, Part } from "./chat.ts";

const MAX_MARKS = { explicit: 4, implicit: 3 } as const;

interface CacheOptions {
  readonly mode: keyof typeof MAX_MARKS;
}

/** Removes all marks except the last ones that the provider uses. There are marks only if the channel claims caching. */
export function keepLastMarks(messages: readonly ChatMessage[], mode: CacheOptions["mode"]): CacheOptions | undefined {
  const marked = messages.flatMap(({ content }) => (typeof content === "object" ? markedOf(content ?? []) : []));
  for (const part of marked.slice(0, -MAX_MARKS[mode])) part.prompt_cache_breakpoint = undefined;
  return mode === "implicit" || marked.length > 0 ? { mode } : undefined;
}

export function cacheModeOf(request: Values): CacheOptions["mode"] {
  return objectOf(request["cache_control"]) === undefined ? "explicit" : "implicit";
}

function markedOf(parts: readonly Part[]): readonly Part[] {
  return parts.filter(({ prompt_cache_breakpoint }) => prompt_cache_breakpoint !== undefined);
}
