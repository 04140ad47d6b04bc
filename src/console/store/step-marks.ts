/**
 * Marks rows: one row, after which the cursor moves down; a range that grows row by row; all rows from the nearest mark
 * to the cursor; or all filtered rows.
 */

import { MOVING } from "../model/key-bindings.ts";
import type { Chord } from "../model/key-event.ts";
import type { State } from "../model/state.ts";
import { cursorRowOf, tableStateOf } from "./current-view.ts";
import { withFlash } from "./flash.ts";
import { type Listing, placeOfRow } from "./listing.ts";
import { clamp, onRow, withTable } from "./navigation.ts";
import { isOneOf } from "./step-helpers.ts";

/** Handles a marking key. Returns `undefined` for any other chord. */
export function stepMarks(state: State, listing: Listing, chord: Chord): State | undefined {
  const apply = isOneOf(chord, MOVING.mark)
    ? toggleMark
    : isOneOf(chord, MOVING.mark_more)
      ? chord === "shift-up"
        ? extendMarksUp
        : extendMarksDown
      : isOneOf(chord, MOVING.mark_range)
        ? markRange
        : isOneOf(chord, MOVING.mark_all)
          ? markAll
          : undefined;
  if (apply === undefined) return undefined;
  return listing.order.length === 0 ? withFlash(state, "there is no row to mark") : apply(state, listing);
}

/** Returns the marks of rows that still exist. The next change drops the others. */
function marksOf(state: State, { table }: Listing): Set<string> {
  const { marks } = tableStateOf(state);
  if (marks.size === 0) return new Set();
  const known = new Set(Array.from({ length: table.count }, (_, at) => table.idOf(at)));
  return new Set([...marks].filter((one) => known.has(one)));
}

const idAt = (listing: Listing, cursor: number): string => cursorRowOf({ ...listing, cursor }) ?? "";
const lastOf = ({ order }: Listing): number => order.length - 1;

function toggleMark(state: State, listing: Listing): State {
  const marks = marksOf(state, listing);
  const id = idAt(listing, listing.cursor);
  if (!marks.delete(id)) marks.add(id);
  return onRow(withTable(state, { marks }), listing, Math.min(listing.cursor + 1, lastOf(listing)));
}

const extendMarksDown = (state: State, listing: Listing): State => extendMarks(state, listing, 1);
const extendMarksUp = (state: State, listing: Listing): State => extendMarks(state, listing, -1);

/** Extends the marks; moving back over marked rows unmarks the row that is left. */
function extendMarks(state: State, listing: Listing, by: 1 | -1): State {
  const { cursor } = listing;
  const next = clamp(cursor + by, 0, lastOf(listing));
  const marks = marksOf(state, listing);
  const [here, there] = [idAt(listing, cursor), idAt(listing, next)];
  if (next !== cursor && marks.has(here) && marks.has(there)) marks.delete(here);
  else marks.add(here).add(there);
  return onRow(withTable(state, { marks }), listing, next);
}

function markRange(state: State, listing: Listing): State {
  const { table, order, cursor } = listing;
  const marks = marksOf(state, listing);
  const places = [...marks].flatMap((id) => placeOfRow(table, order, id) ?? []);
  const [nearest] = places.sort((a, b) => Math.abs(a - cursor) - Math.abs(b - cursor));
  if (nearest === undefined)
    return withFlash(state, "no row is marked; mark one with Space, then Ctrl-Space marks up to the cursor");
  for (let at = Math.min(nearest, cursor); at <= Math.max(nearest, cursor); at += 1) marks.add(idAt(listing, at));
  return withTable(state, { marks });
}

/** Marks all filtered rows, or unmarks them if all are marked. */
function markAll(state: State, listing: Listing): State {
  const marks = marksOf(state, listing);
  const ids = listing.order.map((_, at) => idAt(listing, at));
  const isAll = ids.every((id) => marks.has(id));
  for (const id of ids) {
    if (isAll) marks.delete(id);
    else marks.add(id);
  }
  return withTable(state, { marks });
}
