/**
 * Changes of one entry on top of the current rows. Reads see the changes; the draft is either committed completely or dropped.
 */

import type { Rows } from "./ordered-rows.ts";
import type { Mutation } from "./types.ts";

export interface Draft {
  get(key: string): string | undefined;
  /** Returns the rows with this prefix as of the call; changes during iteration are not seen. */
  scan(prefix: string): Iterable<readonly [key: string, value: string]>;
  put(key: string, value: string): void;
  delete(key: string): void;
  /** Number of changed rows. */
  readonly size: number;
  drop(): void;
  /** Returns the changes in key order, without rows that ended up unchanged. */
  mutations(): readonly Mutation[];
}

export function createDraft(rows: Pick<Rows, "get" | "scan">): Draft {
  const changes = new Map<string, string | undefined>();
  return {
    get: (key) => (changes.has(key) ? changes.get(key) : rows.get(key)),
    *scan(prefix) {
      const changed = [...changes].filter(([key]) => key.startsWith(prefix)).sort(byKey);
      let next = 0;
      for (const row of rows.scan(prefix)) {
        for (; next < changed.length && changed[next]![0] < row[0]; next += 1) {
          const [key, value] = changed[next]!;
          if (value !== undefined) yield [key, value];
        }
        const change = changed[next];
        if (change === undefined || change[0] !== row[0]) {
          yield row;
        } else {
          next += 1;
          if (change[1] !== undefined) yield [change[0], change[1]];
        }
      }
      for (; next < changed.length; next += 1) {
        const [key, value] = changed[next]!;
        if (value !== undefined) yield [key, value];
      }
    },
    put: (key, value) => void changes.set(key, value),
    delete: (key) => void changes.set(key, undefined),
    get size() {
      return changes.size;
    },
    drop: () => changes.clear(),
    mutations: () =>
      [...changes]
        .filter(([key, value]) => rows.get(key) !== value)
        .sort(byKey)
        .map(([key, value]) => ({ key, value })),
  };
}

/** Compares rows by key, by code unit; keys are unique. */
function byKey(left: readonly [string, unknown], right: readonly [string, unknown]): number {
  return left[0] < right[0] ? -1 : 1;
}
