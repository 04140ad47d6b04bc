/** Bounded store of objects by id, in order of creation. The oldest one is dropped first. */

export interface BoundedStore<Value> {
  get(id: string): Value | undefined;
  /** Adds or replaces a value; `bytes` is its approximate size in memory. */
  put(id: string, value: Value, bytes: number): void;
  /** Removes a value; returns false if there was none. */
  remove(id: string): boolean;
  /** Returns the values, the oldest first. */
  values(): readonly Value[];
  clear(): void;
}

interface StoreBounds {
  readonly entries: number;
  /** Maximum total size in bytes. A single larger value is stored alone. */
  readonly bytes: number;
}

export function createBoundedStore<Value>({ entries, bytes: mostBytes }: StoreBounds): BoundedStore<Value> {
  const held = new Map<string, { readonly value: Value; readonly bytes: number }>();
  let sum = 0;
  const remove = (id: string): boolean => {
    sum -= held.get(id)?.bytes ?? 0;
    return held.delete(id);
  };
  return {
    get: (id) => held.get(id)?.value,
    put(id, value, bytes) {
      sum += bytes - (held.get(id)?.bytes ?? 0);
      held.set(id, { value, bytes });
      for (const oldest of held.keys()) {
        if ((held.size <= entries && sum <= mostBytes) || held.size === 1) return;
        if (oldest !== id) remove(oldest);
      }
    },
    remove,
    values: () => Array.from(held.values(), ({ value }) => value),
    clear() {
      held.clear();
      sum = 0;
    },
  };
}
