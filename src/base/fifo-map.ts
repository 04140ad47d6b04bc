/**
 * Map whose oldest entry can be found and removed in constant time, for bounded caches that drop the oldest entry.
 *
 * A `Map` keeps the places of deleted entries until it is rehashed, and reading its first entry passes over all of
 * them: with 15,000 entries, dropping the oldest for each new one takes 5 us instead of 0.1.
 */

interface Entry<Key, Value> {
  readonly key: Key;
  value: Value;
  older: Entry<Key, Value> | undefined;
  newer: Entry<Key, Value> | undefined;
}

export class FifoMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Key, Value>>();
  readonly #maxSize: number;
  #oldest: Entry<Key, Value> | undefined;
  #newest: Entry<Key, Value> | undefined;

  /** Creates a map. `maxSize`: number of entries at which each new one replaces the oldest; unlimited by default. */
  constructor(maxSize = Number.POSITIVE_INFINITY) {
    this.#maxSize = maxSize;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Sets a value. An existing key keeps its age. */
  set(key: Key, value: Value): void {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.value = value;
      return;
    }
    const entry = { key, value, older: this.#newest, newer: undefined };
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
    this.#entries.set(key, entry);
    if (this.#entries.size > this.#maxSize && this.#oldest !== undefined) this.delete(this.#oldest.key);
  }

  delete(key: Key): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#entries.delete(key);
    if (entry.older === undefined) this.#oldest = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === undefined) this.#newest = entry.older;
    else entry.newer.older = entry.older;
    return true;
  }

  /** Returns the oldest entry, or `undefined` if there is none. */
  oldest(): { readonly key: Key; readonly value: Value } | undefined {
    return this.#oldest;
  }

  /** Yields the values from the oldest to the newest. Entries may be deleted meanwhile. */
  *values(): IterableIterator<Value> {
    for (let entry = this.#oldest; entry !== undefined; entry = entry.newer) yield entry.value;
  }
}
