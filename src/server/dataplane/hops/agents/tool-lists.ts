/**
 * Cache of tool lists that servers declare shareable, for the lifetime that they state. It is discarded with the configuration.
 * Source: mcp reference, 11; design decisions, section 7.
 */
import { answerFromCache, shareableOf } from "../../../core/agents/index.ts";
import type { Fronted } from "../../../upstream/index.ts";

/** Maximum number of lists per server: one for each page and kind of client. */
const MAX_KEPT = 64;
const MAX_LENGTH = 1 << 20;

interface Kept {
  readonly message: string;
  /** Time of the monotonic clock, in milliseconds. */
  readonly until: number;
}

const kept = new WeakMap<Fronted, Map<string, Kept>>();

/** Returns a cached answer, or `undefined` if the server must be called. `id`: id of the answer, as JSON text. */
export function keptList(fronted: Fronted, key: string, id: string, now: number): string | undefined {
  const found = kept.get(fronted)?.get(key);
  if (found === undefined) return undefined;
  if (found.until > now) return answerFromCache(found.message, id, found.until - now);
  kept.get(fronted)?.delete(key);
  return undefined;
}

export function keepList(fronted: Fronted, key: string, message: string, now: number): void {
  if (message.length > MAX_LENGTH) return;
  const shareable = shareableOf(message);
  if (shareable === undefined) return;
  const lists = kept.get(fronted) ?? new Map<string, Kept>();
  kept.set(fronted, lists);
  if (lists.size >= MAX_KEPT) lists.delete(lists.keys().next().value as string);
  lists.set(key, { message, until: now + shareable.ttlMs });
}

export function forgetLists(fronted: Fronted): void {
  kept.delete(fronted);
}
