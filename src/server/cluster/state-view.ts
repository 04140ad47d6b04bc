/**
 * Copy of the state's rows on the main thread, which the worker's stream of mutations updates, and its watchers.
 *
 * Rows that only the state machine reads (parts of documents, sessions of writers, idempotency records) are not copied.
 */

import { createRows, type Mutation } from "../core/state/index.ts";
import type { StateView } from "./types.ts";

/** Tables that stay in the worker. */
const PRIVATE_TABLES = ["blob/", "sess/", "idem/"] as const;

export const isPublicRow = (key: string): boolean => !PRIVATE_TABLES.some((table) => key.startsWith(table));

interface Watcher {
  readonly prefix: string;
  readonly onChange: (mutations: readonly Mutation[] | undefined) => void;
}

interface FollowedView {
  readonly view: StateView;
  /** Applies one batch, in order. */
  follow(mutations: readonly Mutation[], index: number): void;
  /** Starts a replacement of all rows, which `add` provides and `endReplace` completes. */
  beginReplace(): void;
  add(rows: readonly (readonly [key: string, value: string])[]): void;
  endReplace(index: number): void;
}

/** Creates an empty view. `onFailure`: called when a watcher throws; the others are still notified. */
export function createView(onFailure: (error: unknown) => void): FollowedView {
  let rows = createRows();
  /** Rows of a replacement, which replace `rows` once complete, so that readers never see a mixture. */
  let next = createRows();
  /** Offset of versions, so that they also grow when all rows are replaced. */
  let versionBase = 0;
  const watchers = new Set<Watcher>();
  let appliedIndex = 0;

  const notifyWatcher = (watcher: Watcher, mutations: readonly Mutation[] | undefined): void => {
    try {
      watcher.onChange(mutations);
    } catch (error) {
      onFailure(error);
    }
  };

  return {
    view: {
      get appliedIndex() {
        return appliedIndex;
      },
      get: (key) => rows.get(key),
      scan: (prefix, after) => rows.scan(prefix, after),
      version: (prefix) => versionBase + rows.version(prefix),
      watch(prefix, onChange) {
        const watcher = { prefix, onChange };
        watchers.add(watcher);
        return () => watchers.delete(watcher);
      },
    },
    follow(mutations, index) {
      rows.apply(mutations);
      appliedIndex = index;
      if (mutations.length === 0) return;
      for (const watcher of [...watchers]) {
        const own = mutations.filter(({ key }) => key.startsWith(watcher.prefix));
        if (own.length > 0) notifyWatcher(watcher, own);
      }
    },
    beginReplace() {
      next = createRows();
    },
    add(more) {
      next.apply(more.map(([key, value]) => ({ key, value })));
    },
    endReplace(index) {
      versionBase += rows.version("") + 1;
      rows = next;
      next = createRows();
      appliedIndex = index;
      for (const watcher of [...watchers]) notifyWatcher(watcher, undefined);
    },
  };
}
