/**
 * Translates and bounds marks of the prompt cache. Source: dialects reference, 8.6.
 *
 * A compat part is marked by `prompt_cache_breakpoint`, or by the messages dialect's own `cache_control`, which several compat
 * providers accept. The former lasts 30 minutes or longer, the latter five minutes or an hour.
 */
import type { Values } from "../../json/json-values.ts";
import { objectOf } from "../../json/json-values.ts";
import type { Block, CacheControl, Markable, Scope, Turn } from "./block-types.ts";

/** Maximum number of marks; the API refuses more. */
const MAX_MARKS = 4;

/** Returns the mark of a part or a tool, if the channel supports caching. */
export function markOf(part: Values, { claims }: Scope): CacheControl | undefined {
  const own = objectOf(part["cache_control"]);
  const breakpoint = objectOf(part["prompt_cache_breakpoint"]);
  if ((own === undefined && breakpoint === undefined) || !claims("prompt_caching")) return undefined;
  if (own === undefined) return markFor(breakpoint?.["ttl"]);
  return { type: "ephemeral", ttl: own["ttl"] === "1h" || own["ttl"] === "5m" ? own["ttl"] : undefined };
}

function markFor(ttl: unknown): CacheControl {
  return { type: "ephemeral", ttl: ttl === "30m" || ttl === "12h" ? "1h" : undefined };
}

/**
 * Keeps as many of the last marks as the API allows, since each covers everything before it. A mark of an hour must not follow
 * a mark of five minutes, so the earlier marks are lengthened. The arguments are in the order of the prompt.
 */
export function limitMarks(tools: readonly Markable[], system: readonly Markable[], turns: readonly Turn[]): void {
  const marked = [...tools, ...system, ...turns.flatMap(({ content }) => markableOf(content))].filter(
    ({ cache_control }) => cache_control !== undefined,
  );
  let isHourNeeded = false;
  for (const [index, block] of marked.toReversed().entries()) {
    isHourNeeded ||= block.cache_control?.ttl === "1h";
    if (index >= MAX_MARKS) block.cache_control = undefined;
    else if (isHourNeeded) block.cache_control = { type: "ephemeral", ttl: "1h" };
  }
}

function markableOf(content: Turn["content"]): readonly Markable[] {
  return typeof content === "string" ? [] : content.flatMap(markablesIn);
}

function markablesIn(block: Block): readonly Markable[] {
  switch (block.type) {
    case "text":
    case "image":
    case "document":
      return [block];
    case "tool_result":
      return block.content === undefined ? [] : markableOf(block.content);
    default:
      return [];
  }
}
