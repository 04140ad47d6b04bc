/**
 * Answers are parsed anew each time; what did not change is given back as the object it was, so that whoever draws can
 * tell by identity. A comparison costs less than the parse before it.
 */

import type { Row } from "./readables.ts";

/** No answer of the admin API is deeper; what is, is taken to differ. */
const MAX_DEPTH = 32;

/** Whether two values of parsed JSON are equal. */
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

export interface KnownRows {
  /** The next rows, each that equals its former self replaced by that; the previous ones themselves when all do. */
  readonly rows: readonly Row[];
  /** Those of them that are new or changed. */
  readonly fresh: readonly Row[];
}

export function withKnownRows(previous: readonly Row[], next: readonly Row[], idOf: (row: Row) => string): KnownRows {
  let places: ReadonlyMap<string, number> | undefined;
  let isEqual = previous.length === next.length;
  /** How many places the rows have moved that the last one was found among: new ones come before the others. */
  let moved = 0;
  const fresh: Row[] = [];
  const rows = next.map((row, at) => {
    // Most rows follow the row that they followed, and are what they were.
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
