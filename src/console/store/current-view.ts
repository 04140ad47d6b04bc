/**
 * Visible part of a state: the view, its rows in order with the cursor, or its text. Pure functions, memoized by identity where
 * they are costly.
 */

import { wrapHanging } from "../format/fit-line.ts";
import type { Context } from "../model/context.ts";
import { createMemo } from "../model/remember.ts";
import type { State, TableState } from "../model/state.ts";
import { type Line, textOfLine } from "../model/text.ts";
import type { Place, View } from "../model/view.ts";
import { filterOf } from "./filter.ts";
import { bodyCells } from "./layout.ts";
import { type Listing, listingIn, tableOfView, withoutColumns } from "./listing.ts";

/** Returns the key of a place. Places with the same key share one table state. */
export const placeKey = ({ view, subject }: Place): string => (subject === undefined ? view : `${view} ${subject}`);

/** Returns the current view, or the first one if the place names none. */
export function viewOf({ place }: State, views: readonly View[]): View {
  const view = views.find(({ id }) => id === place.view) ?? views[0];
  if (view === undefined) throw new RangeError("there is no view");
  return view;
}

/** Returns the input of the view, its dialogs and its verbs; frozen while the screen is. */
export function contextOf(state: State): Context {
  const { data, now } = state.frozen ?? state;
  const { place, isReadOnly, isAscii, link, tail, tailError, verification, recurrences, sweep, rehearsed } = state;
  const { favorites, chartScale } = state.preferences;
  const endpointFlags = link.endpoint.flags;
  const { subject } = place;
  return {
    data,
    now,
    subject,
    isReadOnly,
    isAscii,
    endpointFlags,
    tail,
    tailError,
    verification,
    recurrences,
    chartScale,
    favorites,
    sweep,
    rehearsed,
  };
}

const UNTOUCHED: TableState = {
  cursorId: undefined,
  cursorAt: 0,
  offset: 0,
  sort: undefined,
  filter: "",
  marks: new Set(),
  isWide: false,
  scrolled: 0,
  isNarrowed: false,
};

/** Returns whether the help is open, which it is as long as its search prompt is. */
export const isHelpOpen = ({ prompt }: State): boolean => prompt?.kind === "help";

/** Returns the table state of the place; a view that is a page uses its offset and filter. */
export const tableStateOf = ({ tables, place }: State): TableState => tables.get(placeKey(place)) ?? UNTOUCHED;

/** Returns the rows of the current view's table; `undefined` if the view has no table. */
export function listingOf(state: State, views: readonly View[]): Listing | undefined {
  const view = viewOf(state, views);
  if (view.body.kind !== "table") return undefined;
  const listing = listingIn(tableOfView(view, view.body, contextOf(state)), view.body, tableStateOf(state));
  const table = withoutColumns(listing.table, state.preferences.hidden.get(view.id));
  return table === listing.table ? listing : { ...listing, table };
}

/** Returns the id of the row under the cursor. */
export function cursorRowOf(listing: Listing | undefined): string | undefined {
  const at = listing?.order[listing.cursor];
  return listing === undefined || at === undefined ? undefined : listing.table.idOf(at);
}

export interface Text {
  /** Filtered lines, wrapped to the width of the body. */
  readonly lines: readonly Line[];
  /** Number of lines before the filter. */
  readonly total: number;
  /** Index of the first line on the screen. */
  readonly offset: number;
  readonly filter: string;
  readonly filterError?: string;
}

const TEXTS = createMemo<Omit<Text, "offset">>();

/** Returns the text of the open page, or of a view that is a page; `undefined` if there is neither or it is still loading. */
export function textOf(state: State, views: readonly View[]): Text | undefined {
  const { page, size } = state;
  if (page !== undefined) {
    const { lines, filter, offset } = page;
    if (lines === undefined) return undefined;
    return { ...TEXTS([lines, filter, size.columns], () => filterAndWrap(lines, filter, bodyCells(size))), offset };
  }
  const { body } = viewOf(state, views);
  if (body.kind !== "page") return undefined;
  const { filter, offset } = tableStateOf(state);
  return { ...filterAndWrap(body.lines(contextOf(state)), filter, bodyCells(size)), offset };
}

function filterAndWrap(lines: readonly Line[], text: string, cells: number): Omit<Text, "offset"> {
  const filter = filterOf(text);
  const kept = filter.kind === "match" ? lines.filter((line) => filter.test(textOfLine(line))) : lines;
  return {
    lines: kept.flatMap((line) => wrapHanging(line, cells)),
    total: lines.length,
    filter: text,
    ...(filter.kind === "wrong" && { filterError: filter.message }),
  };
}
