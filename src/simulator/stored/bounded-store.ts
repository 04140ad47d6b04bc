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

export function createBoundedStore<Value>({ entries, bytes: maxBytes }: StoreBounds): BoundedStore<Value> {
  const entriesById = new Map<string, { readonly value: Value; readonly bytes: number }>();
  let totalBytes = 0;
  const remove = (id: string): boolean => {
    totalBytes -= entriesById.get(id)?.bytes ?? 0;
    return entriesById.delete(id);
  };
  return {
    get: (id) => entriesById.get(id)?.value,
    put(id, value, bytes) {
      totalBytes += bytes - (entriesById.get(id)?.bytes ?? 0);
      entriesById.set(id, { value, bytes });
      for (const oldest of entriesById.keys()) {
        if ((entriesById.size <= entries && totalBytes <= maxBytes) || entriesById.size === 1) return;
        if (oldest !== id) remove(oldest);
      }
    },
    remove,
    values: () => Array.from(entriesById.values(), ({ value }) => value),
    clear() {
      entriesById.clear();
      totalBytes = 0;
    },
  };
}
