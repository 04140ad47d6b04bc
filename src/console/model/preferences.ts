/**
 * Table preferences of an operator, kept in one JSON object between runs: hidden columns by view, views saved under function
 * keys, whether wide terminals show the detail pane beside the table, and the time span of charts. The file may contain anything:
 * invalid parts are ignored.
 */

import { type ChartScale, isChartScale } from "./chart-scale.ts";
import { type Chord, FAVORITE_CHORDS } from "./key-event.ts";
import type { Place } from "./place.ts";

export interface Favorite {
  readonly place: Place;
  readonly filter: string;
  readonly sort: { readonly column: string; readonly isDescending: boolean } | undefined;
  /** True if only rows that need attention are shown. */
  readonly isNarrowed: boolean;
}

export interface Preferences {
  /** Ids of hidden columns, by view. */
  readonly hidden: ReadonlyMap<string, readonly string[]>;
  readonly favorites: ReadonlyMap<Chord, Favorite>;
  /** True if tables have two panes where the terminal is wide enough. */
  readonly isSplit: boolean;
  readonly chartScale: ChartScale;
}

export const NO_PREFERENCES: Preferences = {
  hidden: new Map(),
  favorites: new Map(),
  isSplit: true,
  chartScale: "15m",
};

export type PreferenceChange =
  | { readonly kind: "columns"; readonly view: string; readonly hidden: readonly string[] }
  /** Saves a view under a function key. `favorite: undefined` removes the saved view of the key. */
  | { readonly kind: "favorite"; readonly key: Chord; readonly favorite: Favorite | undefined }
  | { readonly kind: "split"; readonly isSplit: boolean }
  | { readonly kind: "scale"; readonly scale: ChartScale };

export function preferencesAfter(before: Preferences, change: PreferenceChange): Preferences {
  switch (change.kind) {
    case "columns":
      return {
        ...before,
        hidden: withEntry(before.hidden, change.view, change.hidden.length > 0 ? change.hidden : undefined),
      };
    case "favorite":
      return { ...before, favorites: withEntry(before.favorites, change.key, change.favorite) };
    case "split":
      return { ...before, isSplit: change.isSplit };
    case "scale":
      return { ...before, chartScale: change.scale };
    default:
      return change satisfies never;
  }
}

function withEntry<T>(map: ReadonlyMap<string, T>, key: string, value: T | undefined): ReadonlyMap<string, T> {
  const next = new Map(map);
  if (value === undefined) next.delete(key);
  else next.set(key, value);
  return next;
}

/** Limits of the file: UTF-16 units of a text, and entries of a list. */
const MAX_TEXT = 4_096;
const MAX_ENTRIES = 200;

export function preferencesText({ hidden, favorites, isSplit, chartScale }: Preferences): string {
  const kept = { hidden: Object.fromEntries(hidden), favorites: Object.fromEntries(favorites), isSplit, chartScale };
  return `${JSON.stringify(kept, null, 2)}\n`;
}

export function preferencesOf(text: string): Preferences {
  const { hidden, favorites, isSplit, chartScale } = objectOf(parsed(text));
  return {
    hidden: new Map(
      Object.entries(objectOf(hidden))
        .slice(0, MAX_ENTRIES)
        .flatMap(([view, ids]) => (Array.isArray(ids) ? [[view, ids.filter(isText).slice(0, MAX_ENTRIES)]] : [])),
    ),
    favorites: new Map(
      FAVORITE_CHORDS.flatMap((key) => {
        const favorite = favoriteOf(objectOf(favorites)[key]);
        return favorite === undefined ? [] : [[key, favorite] as const];
      }),
    ),
    isSplit: isSplit !== false,
    chartScale: isChartScale(chartScale) ? chartScale : NO_PREFERENCES.chartScale,
  };
}

/** Returns the new text to store; `kept` may have been written by another console of the same user. */
export const preferencesTextAfter = (kept: string, change: PreferenceChange): string =>
  preferencesText(preferencesAfter(preferencesOf(kept), change));

function favoriteOf(value: unknown): Favorite | undefined {
  const { place, filter, sort, isNarrowed } = objectOf(value);
  const { view, subject } = objectOf(place);
  const { column, isDescending } = objectOf(sort);
  if (!isText(view)) return undefined;
  return {
    place: { view, ...(isText(subject) && { subject }) },
    filter: isText(filter) ? filter : "",
    sort: isText(column) ? { column, isDescending: isDescending === true } : undefined,
    isNarrowed: isNarrowed === true,
  };
}

const isText = (value: unknown): value is string => typeof value === "string" && value.length <= MAX_TEXT;

const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
