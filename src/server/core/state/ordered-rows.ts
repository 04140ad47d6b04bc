/**
 * Rows of text in key order. The state machine uses it, and so does a read-only copy on another thread, which gets the mutations
 * of each applied entry. It must not be changed while a scan is being iterated.
 */

import { createOrderedKeys } from "./ordered-keys.ts";
import type { Mutation } from "./types.ts";

export interface Rows {
  readonly size: number;
  /** Sum of the lengths of keys and values, in UTF-16 units. */
  readonly byteLength: number;
  get(key: string): string | undefined;
  /** Returns the rows whose key begins with `prefix`, in key order; only those after the key `after`, if given. */
  scan(prefix: string, after?: string): Iterable<readonly [key: string, value: string]>;
  apply(mutations: Iterable<Mutation>): void;
  clear(): void;
  /**
   * Returns a growing number that changes whenever a row of the table (`key/`) changes; for an empty text, whenever any row
   * does.
   */
  version(table: string): number;
}

/** Returns the table of a key or prefix: everything up to and including the first slash. */
const tableOf = (key: string): string => key.slice(0, key.indexOf("/") + 1);

export function createRows(): Rows {
  const values = new Map<string, string>();
  const keys = createOrderedKeys();
  const versions = new Map<string, number>();
  /** Number of changes; the version of a table is its value at the table's last change. */
  let changes = 0;
  let clearedAt = 0;
  let byteLength = 0;

  function set({ key, value }: Mutation): void {
    const before = values.get(key);
    if (before === value) return;
    changes += 1;
    versions.set(tableOf(key), changes);
    if (before !== undefined) byteLength -= key.length + before.length;
    if (value === undefined) {
      values.delete(key);
      keys.delete(key);
      return;
    }
    if (before === undefined) keys.add(key);
    values.set(key, value);
    byteLength += key.length + value.length;
  }

  return {
    get size() {
      return values.size;
    },
    get byteLength() {
      return byteLength;
    },
    get: (key) => values.get(key),
    *scan(prefix, after) {
      for (const key of keys.from(after ?? prefix)) {
        if (!key.startsWith(prefix)) return;
        if (key === after) continue;
        yield [key, values.get(key)!];
      }
    },
    apply(mutations) {
      for (const mutation of mutations) set(mutation);
    },
    clear() {
      values.clear();
      keys.clear();
      versions.clear();
      byteLength = 0;
      changes += 1;
      clearedAt = changes;
    },
    version: (table) => (table === "" ? changes : (versions.get(tableOf(table)) ?? clearedAt)),
  };
}
