/** Preferences for columns, function keys and panes: each change applies immediately and is kept between runs. */

import { escapeControls } from "../../base/index.ts";
import { chordText } from "../format/keys-text.ts";
import type { Dialog, Task } from "../model/dialog.ts";
import { type Chord, FAVORITE_CHORDS } from "../model/key-event.ts";
import { type Favorite, type PreferenceChange, preferencesAfter } from "../model/preferences.ts";
import type { State, Step } from "../model/state.ts";
import type { Table } from "../model/table.ts";
import { line } from "../model/text.ts";
import type { Intent, View } from "../model/view.ts";
import { tableStateOf, viewOf } from "./current-view.ts";
import { withFlash } from "./flash.ts";
import { SPLIT_COLUMNS } from "./layout.ts";
import { stateOnly } from "./step-helpers.ts";

/** Task of dialogs that send nothing to a gateway. */
const NO_TASK: Task = { kind: "actions", actions: [] };

/** Applies and saves a changed preference, and shows the text. */
export function withPreference(state: State, change: PreferenceChange, text: string): Step {
  const preferences = preferencesAfter(state.preferences, change);
  return {
    state: withFlash({ ...state, preferences }, text),
    effects: [{ kind: "remember", what: { name: "preferences", change } }],
  };
}

const SHOWN = "shown";

/** Asks which columns of the view's table are shown. `table` has all of them. */
export function columnsDialog(view: View, table: Table, hidden: readonly string[]): Dialog {
  const ids = table.columns.map(({ id }) => id);
  const ticked = (text = ""): readonly string[] => text.split(",").filter((id) => ids.includes(id));
  return {
    title: `Columns of ${view.title}`,
    isLocal: true,
    fields: [
      {
        kind: "boxes",
        id: SHOWN,
        label: "Show",
        initial: ids.filter((id) => !hidden.includes(id)).join(","),
        choices: ids,
      },
    ],
    lines: ({ [SHOWN]: text }) => [
      ["Shown", line(`${ticked(text).length} of ${ids.length}; t scrolls to those that do not fit`)],
    ],
    confirm: { kind: "yes", button: "keep these columns" },
    blockedReason: ({ [SHOWN]: text }) => (ticked(text).length === 0 ? "tick at least one column" : undefined),
    task: () => NO_TASK,
    keeps({ [SHOWN]: text }) {
      const shown = ticked(text);
      const change = { kind: "columns", view: view.id, hidden: ids.filter((id) => !shown.includes(id)) } as const;
      const message =
        shown.length === ids.length ? "all columns are shown" : `${shown.length} of ${ids.length} columns are shown`;
      return { change, message };
    },
  };
}

/** Returns the view on the screen with its filter and sort. */
function favoriteHere(state: State): Favorite {
  const { filter, sort, isNarrowed } = tableStateOf(state);
  return { place: state.place, filter, sort, isNarrowed };
}

/** Describes a saved view: `Keys, filter prod, sort used % desc`. */
function favoriteText({ place, filter, sort, isNarrowed }: Favorite, views: readonly View[]): string {
  const title = views.find(({ id }) => id === place.view)?.title ?? place.view;
  return [
    escapeControls(place.subject === undefined ? title : `${title} ${place.subject}`),
    ...(filter === "" ? [] : [`filter ${escapeControls(filter)}`]),
    ...(sort === undefined ? [] : [`sort ${escapeControls(sort.column)} ${sort.isDescending ? "desc" : "asc"}`]),
    ...(isNarrowed ? ["attention only"] : []),
  ].join(", ");
}

const KEEP = "keep this view";
const FORGET = "clear the key";

/**
 * Asks for the function key under which the view is saved: proposes the key that already has it, otherwise the first free one.
 */
export function keepDialog(state: State, views: readonly View[]): Dialog {
  const { favorites } = state.preferences;
  const here = favoriteHere(state);
  const message = favoriteText(here, views);
  const keys = FAVORITE_CHORDS.map((chord) => ({ chord, text: chordText(chord) }));
  const chordOf = (text = ""): Chord => keys.find((key) => key.text === text)?.chord ?? "f1";
  const initial =
    keys.find(({ chord }) => {
      const held = favorites.get(chord);
      return held !== undefined && favoriteText(held, views) === message;
    }) ??
    keys.find(({ chord }) => !favorites.has(chord)) ??
    keys[0];
  return {
    title: "Keep this view under a function key",
    isLocal: true,
    fields: [
      {
        kind: "choice",
        id: "key",
        label: "Key",
        initial: initial?.text ?? "F1",
        choices: keys.map(({ text }) => text),
      },
      { kind: "choice", id: "does", label: "Do", initial: KEEP, choices: [KEEP, FORGET] },
    ],
    lines({ key, does }) {
      const held = favorites.get(chordOf(key));
      return [
        ["View", line(message)],
        [
          "Now",
          held === undefined
            ? line("free", "dim")
            : line(`${favoriteText(held, views)}${does === KEEP ? ", which is replaced" : ""}`),
        ],
      ];
    },
    confirm: { kind: "yes", button: "keep" },
    blockedReason: ({ key, does }) =>
      does === FORGET && !favorites.has(chordOf(key)) ? `${key} has no view` : undefined,
    task: () => NO_TASK,
    keeps({ key = "", does }) {
      const favorite = does === FORGET ? undefined : here;
      return {
        change: { kind: "favorite", key: chordOf(key), favorite },
        message: favorite === undefined ? `${key} is free again` : `${key} goes to: ${message}`,
      };
    },
  };
}

/** Goes to the view that is saved under the function key. */
export function favoriteIntent(state: State, key: Chord, views: readonly View[]): Intent {
  const favorite = state.preferences.favorites.get(key);
  const name = chordText(key);
  if (favorite === undefined)
    return { kind: "flash", message: `${name} has no view; press K in a view to keep it there` };
  if (!views.some(({ id }) => id === favorite.place.view))
    return { kind: "flash", message: `${name}: there is no view ${escapeControls(favorite.place.view)}`, tone: "warn" };
  return { kind: "go", ...favorite };
}

/** Turns the second pane of wide terminals on or off. */
export function toggleSplit(state: State, views: readonly View[]): Step {
  const { body } = viewOf(state, views);
  if (body.kind !== "table" || body.isAcross === true)
    return stateOnly(withFlash(state, "this view has no second pane"));
  const { columns } = state.size;
  if (columns < SPLIT_COLUMNS)
    return stateOnly(withFlash(state, `two panes need ${SPLIT_COLUMNS} columns, and the terminal has ${columns}`));
  const isSplit = !state.preferences.isSplit;
  return withPreference(
    state,
    { kind: "split", isSplit },
    isSplit ? "the detail is beside the table" : "the detail is below the table",
  );
}
