/**
 * What the simulated provider remembers between requests: how often it has failed whom, and which prefixes are cached.
 *
 * Both are bounded; the oldest entry leaves first. A reset forgets everything.
 */

const MAX_ENTRIES = 10_000;

export interface Memory {
  /** True for the first `failures` calls with one key. */
  mustFail(key: string, failures: number): boolean;
  /** True when the prefix was seen before; it is remembered either way. */
  isCached(model: string, digest: string): boolean;
  forget(): void;
}

export function createMemory(): Memory {
  const failed = new Map<string, number>();
  const prefixes = new Map<string, true>();
  return {
    mustFail(key, failures) {
      const sofar = failed.get(key) ?? 0;
      if (sofar >= failures) return false;
      put(failed, key, sofar + 1);
      return true;
    },
    isCached(model, digest) {
      const key = `${model}\u0000${digest}`;
      const known = prefixes.has(key);
      put(prefixes, key, true);
      return known;
    },
    forget() {
      failed.clear();
      prefixes.clear();
    },
  };
}

function put<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_ENTRIES) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
