/**
 * Lists of tools that servers let everybody share, kept for as long as they said. What one configuration keeps goes with
 * it. Source: mcp reference, 11; design decisions, section 7.
 */
import { answerFromCache, shareableOf } from "../../../core/agents/index.ts";
import type { Fronted } from "../../../upstream/index.ts";

/** Pages and kinds of clients of one server. */
const MAX_KEPT = 64;
const MAX_LENGTH = 1 << 20;

interface Kept {
  readonly message: string;
  /** Milliseconds of the monotonic clock. */
  readonly until: number;
}

const kept = new WeakMap<Fronted, Map<string, Kept>>();

/** Undefined: the server is to be asked. `id`: JSON text. */
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
