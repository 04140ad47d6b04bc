/**
 * Cache of tool lists that servers declare shareable, for the lifetime that they state. It is discarded with the configuration.
 * Source: mcp reference, 11; design decisions, section 7.
 */
import { answerFromCache, sharingTermsOf } from "../../../core/agents/index.ts";
import type { FrontedServer } from "../../../upstream/index.ts";

/** Maximum number of lists per server: one for each page and kind of client. */
const MAX_LISTS = 64;
const MAX_LENGTH = 1 << 20;

interface CachedList {
  readonly message: string;
  /** Time of the monotonic clock, in milliseconds. */
  readonly until: number;
}

const caches = new WeakMap<FrontedServer, Map<string, CachedList>>();

/** Returns a cached answer, or `undefined` if the server must be called. `id`: id of the answer, as JSON text. */
export function cachedList(fronted: FrontedServer, key: string, id: string, now: number): string | undefined {
  const found = caches.get(fronted)?.get(key);
  if (found === undefined) return undefined;
  if (found.until > now) return answerFromCache(found.message, id, found.until - now);
  caches.get(fronted)?.delete(key);
  return undefined;
}

export function cacheList(fronted: FrontedServer, key: string, message: string, now: number): void {
  if (message.length > MAX_LENGTH) return;
  const shareable = sharingTermsOf(message);
  if (shareable === undefined) return;
  const lists = caches.get(fronted) ?? new Map<string, CachedList>();
  caches.set(fronted, lists);
  if (lists.size >= MAX_LISTS) lists.delete(lists.keys().next().value as string);
  lists.set(key, { message, until: now + shareable.ttlMs });
}

export function dropLists(fronted: FrontedServer): void {
  caches.delete(fronted);
}
