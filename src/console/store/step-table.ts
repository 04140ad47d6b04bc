/** Keys of a table: cursor, sorting, marking, narrowing, columns, and opening a row. */

import { escapeControls } from "../../base/index.ts";
import { linesOfFields, linesOfJson } from "../format/record-lines.ts";
import { MOVING } from "../model/key-bindings.ts";
import type { Chord } from "../model/key-event.ts";
import type { State, Step } from "../model/state.ts";
import type { ColumnHead } from "../model/table.ts";
import type { Line } from "../model/text.ts";
import type { TableBody, View } from "../model/view.ts";
import { contextOf, cursorRowOf, listingOf, tableStateOf, viewOf } from "./current-view.ts";
import { withFlash } from "./flash.ts";
import { runIntent } from "./intent.ts";
import { tableRegions } from "./layout.ts";
import { type Listing, placeOfRow, tableOfView } from "./listing.ts";
import { clamp, onRow, withTable } from "./navigation.ts";
import { columnsDialog, toggleSplit } from "./preference-dialogs.ts";
import { rowsStatement } from "./rows-statement.ts";
import { selectionOf } from "./selectors.ts";
import { copyCells, copyRows, saveTable } from "./shown-rows.ts";
import { openDialog } from "./step-dialog.ts";
import { isOneOf, stateOnly } from "./step-helpers.ts";
import { stepMarks } from "./step-marks.ts";
import { openPage } from "./step-page.ts";

interface Seen {
  readonly view: View;
  readonly body: TableBody;
  readonly listing: Listing;
}

/** Handles a key of tables. Returns `undefined` for any other chord. */
export function stepTable(state: State, seen: Seen, chord: Chord, views: readonly View[]): Step | undefined {
  const moved = moveCursor(state, seen, chord);
  if (moved !== undefined) return stateOnly(moved);
  const { listing, body } = seen;
  const { isWide, isNarrowed } = tableStateOf(state);
  const across = body.isAcross === true && !isWide ? stepAcross(state, listing, chord) : undefined;
  if (across !== undefined) return stateOnly(across);
  if (isOneOf(chord, MOVING.left)) return stateOnly(scrollColumnsBy(state, listing, -1));
  if (isOneOf(chord, MOVING.right)) return stateOnly(scrollColumnsBy(state, listing, 1));
  if (isOneOf(chord, MOVING.wide)) return stateOnly(withTable(state, { isWide: !isWide, scrolled: 0 }));
  if (isOneOf(chord, MOVING.bad)) return stateOnly(withTable(state, { isNarrowed: !isNarrowed }));
  if (isOneOf(chord, MOVING.sort)) return stateOnly({ ...state, awaitsColumnFor: "sort" });
  if (isOneOf(chord, MOVING.sort_next)) return stateOnly(sortByNeighbor(state, listing, 1));
  if (isOneOf(chord, MOVING.sort_before)) return stateOnly(sortByNeighbor(state, listing, -1));
  if (isOneOf(chord, MOVING.query)) return query(state, seen, views);
  const marked = stepMarks(state, listing, chord);
  if (marked !== undefined) return stateOnly(marked);
  if (isOneOf(chord, MOVING.copy)) return copyNames(state, listing, views);
  if (isOneOf(chord, MOVING.split)) return toggleSplit(state, views);
  if (isOneOf(chord, MOVING.columns)) return stateOnly(chooseColumns(state, seen));
  if (isOneOf(chord, MOVING.copy_row)) return copyRows(state, listing, views);
  if (isOneOf(chord, MOVING.copy_cell)) return stateOnly({ ...state, awaitsColumnFor: "copy" });
  if (isOneOf(chord, MOVING.save_table)) return runIntent(state, saveTable(state, listing, views), views);
  if (isOneOf(chord, MOVING.open)) return openRow(state, seen, views);
  if (isOneOf(chord, MOVING.describe)) return stateOnly(describeRow(state, seen));
  if (isOneOf(chord, MOVING.raw)) return stateOnly(raw(state, listing));
  return undefined;
}

/** Moves the cursor to the clicked row, if there is one. */
export function pointAtRow(state: State, listing: Listing | undefined, index: number): State {
  return listing === undefined || listing.order[index] === undefined ? state : onRow(state, listing, index);
}

function moveCursor(state: State, { view, listing }: Seen, chord: Chord): State | undefined {
  const { cursor, order } = listing;
  const page = tableRegions(state.size, view, state.preferences.isSplit).rows;
  const last = order.length - 1;
  const to = (index: number): State => onRow(state, listing, clamp(index, 0, last));
  if (isOneOf(chord, MOVING.up)) return to(cursor - 1);
  if (isOneOf(chord, MOVING.down)) return to(cursor + 1);
  if (isOneOf(chord, MOVING.page_up)) return to(cursor - page);
  if (isOneOf(chord, MOVING.page_down)) return to(cursor + page);
  if (isOneOf(chord, MOVING.first)) return to(0);
  if (isOneOf(chord, MOVING.last)) return to(last);
  return undefined;
}

function stepAcross(state: State, listing: Listing, chord: Chord): State | undefined {
  const by = isOneOf(chord, MOVING.left) ? -1 : isOneOf(chord, MOVING.right) ? 1 : 0;
  return by === 0 ? undefined : onRow(state, listing, clamp(listing.cursor + by, 0, listing.order.length - 1));
}

function scrollColumnsBy(state: State, { table }: Listing, by: 1 | -1): State {
  const { isWide, scrolled } = tableStateOf(state);
  if (!isWide) return withFlash(state, "t shows all columns; left and right then scroll them");
  return withTable(state, { scrolled: clamp(scrolled + by, 0, table.columns.length - 1) });
}

function chooseColumns(state: State, { view, body }: Seen): State {
  const hidden = state.preferences.hidden.get(view.id) ?? [];
  return openDialog(state, columnsDialog(view, tableOfView(view, body, contextOf(state)), hidden));
}

/** Sorts by the column whose head was clicked; a second click reverses the order. */
export function sortByHead(state: State, listing: Listing | undefined, id: string): State {
  const column = listing?.table.columns.find((one) => one.id === id);
  return listing === undefined || column === undefined ? state : sortBy(state, listing, column);
}

/** Handles the key after `S` or `Y`. */
export function stepColumnLetter(
  state: State,
  listing: Listing | undefined,
  chord: Chord,
  views: readonly View[],
): Step {
  const awaited: State = { ...state, awaitsColumnFor: undefined };
  if (chord === "esc" || listing === undefined) return stateOnly(awaited);
  const { columns } = listing.table;
  const column =
    columns.find(({ letter }) => letter === chord) ??
    columns.find(({ letter }) => letter.toLowerCase() === chord.toLowerCase());
  if (column !== undefined) {
    if (state.awaitsColumnFor === "copy") return copyCells(awaited, listing, columns.indexOf(column), views);
    return stateOnly(sortBy(awaited, listing, column));
  }
  const letters = columns.map(({ letter, head }) => `${letter} ${head}`).join(", ");
  return stateOnly(withFlash(awaited, `no column has the letter ${chord}: ${letters}`));
}

/** Sorts by a column; numbers, which are right-aligned, begin with the largest. */
function sortBy(state: State, { sort }: Listing, { id, align }: ColumnHead): State {
  const isDescending = sort.column === id ? !sort.isDescending : align === "right";
  return withTable(state, { sort: { column: id, isDescending } });
}

function sortByNeighbor(state: State, { table: { columns }, sort }: Listing, by: 1 | -1): State {
  const at = columns.findIndex(({ id }) => id === sort.column);
  const next = columns[(at + by + columns.length) % columns.length];
  return next === undefined
    ? state
    : withTable(state, { sort: { column: next.id, isDescending: next.align === "right" } });
}

function copyNames(state: State, { table, order }: Listing, views: readonly View[]): Step {
  const chosen = new Set(selectionOf(state, views).ids);
  const names = order.filter((at) => chosen.has(table.idOf(at))).map((at) => table.nameOf(at));
  const [first] = names;
  if (first === undefined) return stateOnly(withFlash(state, "there is no row to copy"));
  const text = names.length === 1 ? `copied ${escapeControls(first)}` : `copied ${names.length} names`;
  return { state: withFlash(state, text), effects: [{ kind: "copy", text: names.join("\n") }] };
}

function query(state: State, { body, listing }: Seen, views: readonly View[]): Step {
  if (body.query === undefined) return stateOnly(withFlash(state, "the query workbench has no table for these rows"));
  const { sql, isFiltered } = rowsStatement(
    body.query,
    listing,
    tableStateOf(state),
    state.place.subject !== undefined,
  );
  const step = runIntent(state, { kind: "query", sql }, views);
  if (isFiltered) return step;
  const text = "too many rows match the filter to name them in a statement; it selects all rows";
  return { ...step, state: withFlash(step.state, text, "warn") };
}

function openRow(state: State, seen: Seen, views: readonly View[]): Step {
  const row = cursorRowOf(seen.listing);
  const { open } = seen.body;
  if (row === undefined || open === undefined) return stateOnly(describeRow(state, seen));
  return withRowOfPage(state, runIntent(state, open(row, contextOf(state)), views), row);
}

/** Links a page to the row that it was opened for. */
export function withRowOfPage(before: State, step: Step, row: string | undefined): Step {
  const { page } = step.state;
  if (page === undefined || page.id === before.page?.id || row === undefined) return step;
  return { ...step, state: { ...step.state, page: { ...page, row } } };
}

function describeRow(state: State, { body, listing }: Seen): State {
  const row = cursorRowOf(listing);
  const at = listing.order[listing.cursor];
  if (row === undefined || at === undefined) return withFlash(state, "there is no row to describe");
  const there = openPage(state, listing.table.nameOf(at), linesOfRow(state, body, listing, row, at));
  return there.page === undefined ? there : { ...there, page: { ...there.page, row, isDescription: true } };
}

const linesOfRow = (state: State, body: TableBody, { table }: Listing, row: string, at: number): readonly Line[] =>
  body.describe?.(row, contextOf(state)) ?? linesOfFields(table.jsonOf(at));

/** Rebuilds the open description with the newest data; unchanged if its row is gone. */
export function withFreshDescription(state: State, views: readonly View[]): State {
  const { page } = state;
  const { body } = viewOf(state, views);
  const listing = page?.isDescription === true ? listingOf(state, views) : undefined;
  if (page?.row === undefined || body.kind !== "table" || listing === undefined) return state;
  const place = placeOfRow(listing.table, listing.order, page.row);
  const at = place === undefined ? undefined : listing.order[place];
  if (at === undefined) return state;
  return { ...state, page: { ...page, lines: linesOfRow(state, body, listing, page.row, at) } };
}

function raw(state: State, { table, order, cursor }: Listing): State {
  const at = order[cursor];
  if (at === undefined) return withFlash(state, "there is no row to show");
  const there = openPage(state, `${table.nameOf(at)} as JSON`, linesOfJson(table.jsonOf(at)));
  return there.page === undefined ? there : { ...there, page: { ...there.page, row: table.idOf(at) } };
}
