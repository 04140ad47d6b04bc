/** Lists of the simulated MCP server: their pages, and how they may be cached. */

import type { AgentDeviations } from "../agents/quirks.ts";
import { EMPTY_OBJECT, type Json, type JsonObject, stringOf } from "../json.ts";
import { invalid } from "./read.ts";
import type { McpState } from "./state.ts";
import { POISON, TOOLS } from "./tools.ts";

const SHARED_MS = 60_000;

export function toolList({ quirks }: AgentDeviations, { changes }: McpState): readonly JsonObject[] {
  const known = TOOLS.map(({ run: _, description, ...tool }, index) => ({
    ...tool,
    description: index === 0 && quirks.has("poison") ? `${description} ${POISON}` : description,
  }));
  if (changes === 0) return known;
  const added = { type: "object", properties: {}, additionalProperties: false };
  return [...known, { name: `added_${changes}`, description: "It was not here before.", inputSchema: added }];
}

export function hints({ quirks }: AgentDeviations): JsonObject {
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
  return { [name]: entries.slice(from, from + size), ...next, ...hints(deviations) };
}

function cursorOf(cursor: Json, count: number): number {
  const at = /^\d{1,4}$/.test(stringOf(cursor) ?? "") ? Number(cursor) : Number.NaN;
  if (!(at < count)) throw invalid("the cursor is not one of this list");
  return at;
}
