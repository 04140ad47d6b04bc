/**
 * State of the simulated provider between requests: how often it failed for which caller, which prefixes are cached,
 * and the conversations of message threads.
 *
 * Each part is bounded; the oldest entry is dropped first. A reset clears everything.
 */

import type { JsonObject } from "./json-fields.ts";

const MAX_ENTRIES = 10_000;

/** Maximum number of threads; each has a conversation. */
const MAX_THREADS = 256;

/** Maximum length of a conversation as JSON text; a longer one is not stored. */
const MAX_THREAD_LENGTH = 1 << 20;

interface StoredThread {
  /** Conversation: `system`, `tools` and `messages` of an equivalent request without a thread. */
  readonly conversation: JsonObject;
  /** True if a request continued the thread after its last answer. */
  isContinued: boolean;
}

export interface Memory {
  /** Returns true for the first `failures` calls with one key. */
  countFailure(key: string, failures: number): boolean;
  /** Returns whether the prefix was seen before, and remembers it. */
  isCached(model: string, digest: string): boolean;
  /** Returns a thread by the id of its last answer. */
  thread(messageId: string): StoredThread | undefined;
  storeThread(messageId: string, conversation: JsonObject): void;
  clear(): void;
}

export function createMemory(): Memory {
  const failed = new Map<string, number>();
  const prefixes = new Map<string, true>();
  const threads = new Map<string, StoredThread>();
  return {
    countFailure(key, failures) {
      const failuresSoFar = failed.get(key) ?? 0;
      if (failuresSoFar >= failures) return false;
      put(failed, key, failuresSoFar + 1);
      return true;
    },
    isCached(model, digest) {
      const key = `${model}\u0000${digest}`;
      const known = prefixes.has(key);
      put(prefixes, key, true);
      return known;
    },
    thread: (messageId) => threads.get(messageId),
    storeThread(messageId, conversation) {
      if (JSON.stringify(conversation).length > MAX_THREAD_LENGTH) return;
      put(threads, messageId, { conversation, isContinued: false }, MAX_THREADS);
    },
    clear() {
      failed.clear();
      prefixes.clear();
      threads.clear();
    },
  };
}

function put<Value>(map: Map<string, Value>, key: string, value: Value, max = MAX_ENTRIES): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
