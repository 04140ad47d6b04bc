/** Navigation between places, and the state that is kept of each. */

import { MAX_PAST, type State, type TableState } from "../model/state.ts";
import type { Place, View } from "../model/view.ts";
import { cursorRowOf, listingOf, placeKey, tableStateOf, textOf, viewOf } from "./current-view.ts";
import { withFlash } from "./flash.ts";
import { bodyRows, tableRegions } from "./layout.ts";
import type { Listing } from "./listing.ts";

/** Maximum number of places whose cursor and filter are kept; the least recently changed one is dropped first. */
export const MAX_TABLES = 100;

/** Changes the table state of the current place. */
export function withTable(state: State, changes: Partial<TableState>): State {
  const key = placeKey(state.place);
  const table = { ...tableStateOf(state), ...changes };
  const tables = new Map(state.tables);
  tables.delete(key);
  tables.set(key, table);
  const [oldest] = tables.keys();
  if (tables.size > MAX_TABLES && oldest !== undefined) tables.delete(oldest);
  return { ...state, tables };
}

/** Moves the cursor to a row of the list, by its index in the order; no change if there is no such row. */
export function onRow(state: State, listing: Listing, index: number): State {
  const id = cursorRowOf({ ...listing, cursor: index });
  return id === undefined ? state : withTable(state, { cursorId: id, cursorAt: index });
}

/** Goes to a place and closes everything over it. Unfreezes the screen, since the frozen data may lack the place's readings. */
function at(state: State, place: Place, past: readonly Place[]): State {
  return {
    ...state,
    place,
    past: past.slice(-MAX_PAST),
    recent: [place, ...state.recent.filter((one) => placeKey(one) !== placeKey(place))].slice(0, MAX_PAST),
    frozen: undefined,
    page: undefined,
    prompt: undefined,
    awaitsColumnFor: undefined,
    // In the query workbench the operator types: no letter is a hot key until Esc ends editing.
    workbench: { ...state.workbench, isEditing: true },
  };
}

/**
 * Goes to the first row of a place, which in most views is the worst one. The filter is cleared and the sort is kept.
 * Going back or to another tab returns to the previous row and filter instead.
 */
export function navigateTo(state: State, place: Place): State {
  const isHere = placeKey(place) === placeKey(state.place);
  const there = at(state, place, isHere ? state.past : [...state.past, state.place]);
  if (!state.tables.has(placeKey(place))) return there;
  return withTable(there, {
    cursorId: undefined,
    cursorAt: 0,
    offset: 0,
    marks: new Set(),
    moment: undefined,
    ...(!isHere && { filter: "", isNarrowed: false }),
  });
}

/** Goes to another tab of the same view without adding a step to go back from. */
const replacePlace = (state: State, place: Place): State => at(state, place, state.past);

/** Goes back to the previous place. Returns `undefined` if there is none. */
export function backFrom(state: State): State | undefined {
  const last = state.past.at(-1);
  return last === undefined ? undefined : at(state, last, state.past.slice(0, -1));
}

/** Alternates between this place and the previous one. */
export function toPrevious(state: State): State {
  const last = state.past.at(-1);
  if (last === undefined) return withFlash(state, "there is no view before this one");
  return at(state, last, [...state.past.slice(0, -1), state.place]);
}

/** Goes to the next tab of the view. */
export function toNextTab(state: State, views: readonly View[]): State {
  const view = viewOf(state, views);
  const tabs = view.group === undefined ? [] : views.filter(({ group }) => group === view.group);
  const next = tabs[(tabs.indexOf(view) + 1) % tabs.length];
  if (next === undefined || next === view) return withFlash(state, "this view has no tabs");
  return replacePlace(state, { view: next.id });
}

/**
 * Moves the cursor to an existing row on the screen. Once moved, the cursor follows its row, or stays at the same position if
 * the row disappears; before that it is on the first row. Called after every event, so that no other step has to do it.
 */
export function withSettledCursor(state: State, views: readonly View[]): State {
  const settledPage = withPageInside(state, views);
  const listing = listingOf(settledPage, views);
  const view = viewOf(settledPage, views);
  const { cursorId, cursorAt, offset } = tableStateOf(settledPage);
  if (listing === undefined) {
    const text = view.body.kind === "page" ? textOf({ ...settledPage, page: undefined }, views) : undefined;
    const inside = clamp(offset, 0, (text?.lines.length ?? 0) - bodyRows(settledPage.size));
    return inside === offset ? settledPage : withTable(settledPage, { offset: inside });
  }
  // An empty table keeps the cursor's row, since it may be loading or filtered only for a moment.
  const row = cursorRowOf(listing);
  if (row === undefined) return offset === 0 ? settledPage : withTable(settledPage, { offset: 0 });
  const { cursor, order } = listing;
  const { rows } = tableRegions(settledPage.size, view, settledPage.preferences.isSplit);
  const shown = clamp(clamp(offset, cursor - rows + 1, cursor), 0, order.length - rows);
  const followed = cursorId === undefined ? undefined : row;
  if (followed === cursorId && cursor === cursorAt && shown === offset) return settledPage;
  return withTable(settledPage, { cursorId: followed, cursorAt: cursor, offset: shown });
}

function withPageInside(state: State, views: readonly View[]): State {
  const { page, size } = state;
  if (page === undefined) return state;
  const offset = clamp(page.offset, 0, (textOf(state, views)?.lines.length ?? 0) - bodyRows(size));
  return offset === page.offset ? state : { ...state, page: { ...page, offset } };
}

/** Limits a value to a range; the lower bound wins if the range is empty. */
export const clamp = (value: number, least: number, most: number): number => Math.max(least, Math.min(value, most));
