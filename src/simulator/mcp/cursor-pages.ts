/** Lists of the simulated MCP server: their pages, and how they may be cached. */

import type { AgentDeviations } from "../agents/quirks.ts";
import { EMPTY_OBJECT, type Json, type JsonObject, stringOf } from "../json-fields.ts";
import type { McpState } from "./mcp-state.ts";
import { invalid } from "./parse-mcp-message.ts";
import { POISONED_DESCRIPTION, TOOLS } from "./simulated-tools.ts";

const SHARED_MS = 60_000;

export function toolList({ quirks }: AgentDeviations, { changes }: McpState): readonly JsonObject[] {
  const tools = TOOLS.map(({ run: _, description, ...tool }, index) => ({
    ...tool,
    description: index === 0 && quirks.has("poison") ? `${description} ${POISONED_DESCRIPTION}` : description,
  }));
  if (changes === 0) return tools;
  const added = { type: "object", properties: {}, additionalProperties: false };
  return [...tools, { name: `added_${changes}`, description: "It was not here before.", inputSchema: added }];
}

export function cacheHints({ quirks }: AgentDeviations): JsonObject {
  return quirks.has("shared") ? { ttlMs: SHARED_MS, cacheScope: "public" } : { ttlMs: 0, cacheScope: "private" };
}

/** Returns a page. A cursor is the index of the next entry. */
export function page(
  name: string,
  entries: readonly JsonObject[],
  { cursor }: JsonObject,
  deviations: AgentDeviations,
): JsonObject {
  const from = cursor === undefined ? 0 : cursorOf(cursor, entries.length);
  const size = deviations.quirks.has("paged") ? 1 : entries.length;
  const next: JsonObject = from + size < entries.length ? { nextCursor: String(from + size) } : EMPTY_OBJECT;
  return { [name]: entries.slice(from, from + size), ...next, ...cacheHints(deviations) };
}

function cursorOf(cursor: Json, count: number): number {
  const at = /^\d{1,4}$/.test(stringOf(cursor) ?? "") ? Number(cursor) : Number.NaN;
  if (!(at < count)) throw invalid("the cursor is not one of this list");
  return at;
}
