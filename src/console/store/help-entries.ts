/**
 * Entries of the help, one per key, from the same tables that the key handler reads: the view's verbs with the reason why they
 * are unavailable now, moving, common keys, the views, and, during a search, the verbs of other views. Each entry says what
 * Enter does with it.
 */

import { chordsText, chordText } from "../format/keys-text.ts";
import { CHARTS, COMMON, type CommonId, type CommonKey, MOVING, type MovingId, VERBS } from "../model/key-bindings.ts";
import type { Chord } from "../model/key-event.ts";
import type { State } from "../model/state.ts";
import type { Place, View } from "../model/view.ts";
import { WORKBENCH_PARTS } from "../workbench/workbench-keys.ts";
import { commandsHere, shownKeys } from "./custom-commands.ts";
import { offersOf, viewOf } from "./selectors.ts";

export interface Entry {
  readonly key: string;
  readonly help: string;
  /** Text of the hint bar, which is searched too. */
  readonly label?: string;
  readonly disabledReason?: string | undefined;
  readonly runs: EntryRun;
}

export type EntryRun =
  /** Standard chord, whichever key the operator assigned to it. */
  | { readonly kind: "key"; readonly chord: Chord }
  /** Custom command, by its key. */
  | { readonly kind: "command"; readonly chord: Chord }
  | { readonly kind: "go"; readonly place: Place }
  /** Several keys with different effects, so that Enter cannot choose one. */
  | { readonly kind: "none" };

export interface Section {
  readonly head: string;
  readonly entries: readonly Entry[];
}

/** Lists everything that can be done here, with the operator's keys and custom commands. */
export function sectionsOf(state: State, views: readonly View[]): readonly Section[] {
  const [own, ...others] = keySectionsOf(state, views).map(({ head, entries }) => ({
    head,
    entries: entries.map((entry) => ({
      ...entry,
      key: entry.key.includes(":") ? entry.key : shownKeys(state.keys, entry.key),
    })),
  }));
  const commands = commandsHere(state, views).map(
    ({ key, name, run }): Entry => ({
      key: chordText(key),
      help: `${name}: ${run.kind === "argv" ? run.argv.join(" ") : `sh -c ${run.text}`}`,
      runs: { kind: "command", chord: key },
    }),
  );
  return [
    ...(own === undefined ? [] : [own]),
    ...(commands.length === 0 ? [] : [{ head: "Your commands", entries: commands }]),
    ...others,
  ];
}

interface EntrySearch {
  /** Sections without empty ones. */
  readonly sections: readonly Section[];
  /** Index of the entry that Enter runs, over all sections; -1 if nothing was found. */
  readonly chosen: number;
}

/** Finds the entries that contain every word of the search in their key or text; all if the search is empty. */
export function searchEntries(state: State, views: readonly View[]): EntrySearch {
  const { prompt } = state;
  const text = prompt?.kind === "help" ? prompt.edit.text.trim() : "";
  const all = sectionsOf(state, views);
  if (text === "") {
    const sections = all.filter(({ entries }, at) => at === 0 || entries.length > 0);
    return { sections, chosen: clampSelected(sections, prompt?.chosen ?? 0) };
  }
  const texts = text.toLowerCase().split(/\s+/);
  const isFound = ({ key, help, label = "" }: Entry): boolean => {
    const searched = `${key} ${label} ${help}`.toLowerCase();
    return texts.every((word) => searched.includes(word));
  };
  const sections = [...all, elsewhere(state, views)]
    .map(({ head, entries }) => ({ head, entries: entries.filter(isFound) }))
    .filter(({ entries }) => entries.length > 0);
  const ranks = sections.flatMap(({ entries }) => entries.map((entry) => rankOf(entry, text)));
  return { sections, chosen: clampSelected(sections, prompt?.chosen ?? ranks.indexOf(Math.min(...ranks))) };
}

/** Returns 0 if the search is the key, 1 if a word of the text begins with it, 2 otherwise. */
function rankOf({ key, help, label = "" }: Entry, text: string): number {
  if (key.split(" ").includes(text)) return 0;
  return ` ${label} ${help}`.toLowerCase().includes(` ${text.toLowerCase()}`) ? 1 : 2;
}

function clampSelected(sections: readonly Section[], at: number): number {
  const count = sections.reduce((sum, { entries }) => sum + entries.length, 0);
  return Math.min(at, count - 1);
}

function keySectionsOf(state: State, views: readonly View[]): readonly Section[] {
  const view = viewOf(state, views);
  const offers = offersOf(state, views).filter(({ isShown }) => isShown);
  return [
    {
      head: `${view.title}: ${view.about}`,
      entries: offers.map(({ offer, disabledReason }) => {
        const { chord, label, help } = VERBS[offer.verb];
        return {
          key: chordText(chord),
          label: offer.label ?? label,
          help: offer.label === undefined || offer.label === label ? help : `${offer.label}: ${help}`,
          disabledReason,
          runs: { kind: "key", chord },
        };
      }),
    },
    ...(view.body.kind === "workbench"
      ? WORKBENCH_PARTS.map(({ where, keys }) => ({ head: `Keys ${where}`, entries: keys.map(entryOf) }))
      : []),
    ...(view.body.kind === "charts" ? [{ head: "Charts", entries: Object.values(CHARTS).map(entryOf) }] : []),
    { head: "Moving", entries: movingOf(view, views).map((id) => entryOf(MOVING[id])) },
    { head: "Everywhere", entries: commonOf(state).map((id) => entryOf(COMMON[id])) },
    {
      head: "Views",
      entries: views.map(({ id, aliases, digit, about }) => ({
        key: digit === undefined ? `:${id}` : `${digit} :${id}`,
        help: `${about}${aliases.length === 0 ? "" : ` (also ${aliases.map((alias) => `:${alias}`).join(" ")})`}`,
        runs: { kind: "go", place: { view: id } },
      })),
    },
  ];
}

/** Lists verbs that other views offer and this one does not; Enter goes to the view. */
function elsewhere(state: State, views: readonly View[]): Section {
  const here = viewOf(state, views);
  const offered = new Set(here.offers.map(({ verb }) => verb));
  const entries = views.flatMap((view) =>
    view.offers.flatMap((offer): readonly Entry[] => {
      const { chord, label, help, group } = VERBS[offer.verb];
      if (offered.has(offer.verb) || (state.isReadOnly && group === "write")) return [];
      const text = `in ${view.title}, ${offer.label ?? label}: ${help}`;
      return [
        { key: shownKeys(state.keys, chordText(chord)), help: text, runs: { kind: "go", place: { view: view.id } } },
      ];
    }),
  );
  return { head: "In other views: Enter goes there", entries };
}

const entryOf = ({ chords, help, label }: CommonKey): Entry => {
  const [chord = ""] = chords;
  // Each digit goes to a different view, so that Enter cannot choose one.
  const isOne = chords.length === 1 || !/^\d$/.test(chord);
  return { key: chordsText(chords), help, label, runs: isOne ? { kind: "key", chord } : { kind: "none" } };
};

const OF_PAGES: readonly MovingId[] = ["up", "down", "page_up", "page_down", "first", "last"];

/** Moving keys that only query results have. */
const OF_RESULTS: readonly MovingId[] = ["left", "right"];

function movingOf({ body, offers, group, id }: View, views: readonly View[]): readonly MovingId[] {
  const hasTabs = group !== undefined && views.some((other) => other.group === group && other.id !== id);
  const all = Object.keys(MOVING).filter((name): name is MovingId => name in MOVING);
  return all.filter((name) => {
    if (name === "tab") return hasTabs;
    if (body.kind === "charts") return false;
    if (body.kind !== "table")
      return OF_PAGES.includes(name) || (body.kind === "workbench" && OF_RESULTS.includes(name));
    if (name.startsWith("mark")) return offers.some(({ takesMany }) => takesMany);
    return name !== "query" || body.query !== undefined;
  });
}

function commonOf({ link }: State): readonly CommonId[] {
  const all = Object.keys(COMMON).filter((name): name is CommonId => name in COMMON);
  return all.filter((name) => name !== "door" || link.endpoints > 1);
}
