/**
 * Identity-preserving comparison: answers are parsed each time, and unchanged parts are replaced by the previous objects, so
 * that drawing can compare by identity. A comparison is cheaper than parsing.
 */

import type { Row } from "./read-rules.ts";

/** Maximum depth of a comparison; no answer of the admin API is deeper, and deeper values count as different. */
const MAX_DEPTH = 32;

/** Returns whether two values of parsed JSON are equal. */
export function isSame(a: unknown, b: unknown, depth = 0): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || depth > MAX_DEPTH) return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((it, at) => isSame(it, b[at], depth + 1));
  }
  if (Array.isArray(b)) return false;
  const left = a as Row;
  const right = b as Row;
  let count = 0;
  for (const name in left) {
    if (!Object.hasOwn(right, name) || !isSame(left[name], right[name], depth + 1)) return false;
    count++;
  }
  for (const _ in right) count--;
  return count === 0;
}

interface KnownRows {
  /** Next rows, with each unchanged one replaced by its previous object; the previous array itself if all are unchanged. */
  readonly rows: readonly Row[];
  /** Rows that are new or changed. */
  readonly fresh: readonly Row[];
}

export function withKnownRows(previous: readonly Row[], next: readonly Row[], idOf: (row: Row) => string): KnownRows {
  let places: ReadonlyMap<string, number> | undefined;
  let isEqual = previous.length === next.length;
  /** Offset between the old and new positions of the last match: new rows usually come first. */
  let moved = 0;
  const fresh: Row[] = [];
  const rows = next.map((row, at) => {
    // Most rows follow their previous neighbor and are unchanged.
    const there = previous[at + moved];
    if (there !== undefined && isSame(there, row)) return there;
    isEqual = false;
    places ??= new Map(previous.map((it, place) => [idOf(it), place]));
    const place = places.get(idOf(row));
    moved = place === undefined ? moved - 1 : place - at;
    const former = place === undefined ? undefined : previous[place];
    if (former !== undefined && former !== there && isSame(former, row)) return former;
    fresh.push(row);
    return row;
  });
  return isEqual ? { rows: previous, fresh } : { rows, fresh };
}
