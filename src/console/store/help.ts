/**
 * The keys that work here, made of the same tables that the handler reads: the view's verbs with why they cannot be done
 * now, what moves, what works everywhere, and where one can go. A text that scrolls where it is longer than the screen.
 */

import { cellsOf } from "../../base/index.ts";
import { padTo } from "../format/cut.ts";
import { fitLine, wrapLine } from "../format/fit.ts";
import { chordsText, chordText } from "../format/keys-text.ts";
import { CHARTS, COMMON, type CommonId, MOVING, type MovingId, VERBS } from "../model/keys.ts";
import type { State } from "../model/state.ts";
import { BLANK, type Line, line, type Span } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { WORKBENCH_PARTS } from "../workbench/keys.ts";
import { commandsHere, shownKeys } from "./custom.ts";
import { bodyCells, bodyRows, ROOMY_SIZE } from "./layout.ts";
import { offersOf, viewOf } from "./select.ts";

interface Entry {
  readonly key: string;
  readonly help: string;
  readonly why?: string | undefined;
}

interface Section {
  readonly head: string;
  readonly entries: readonly Entry[];
}

/** Lines no wider than the body, and the first of them on the screen. */
export function helpOf(
  state: State,
  views: readonly View[],
): { readonly lines: readonly Line[]; readonly offset: number } {
  const { size, helpOffset } = state;
  const cells = bodyCells(size);
  const [own, ...others] = sectionsOf(state, views).filter(({ entries }, at) => at === 0 || entries.length > 0);
  const inFull = ({ entries }: Section) => entries.flatMap((entry) => listed(entry, cells, widthOf(entries)));
  const isWide = size.columns >= ROOMY_SIZE.columns;
  const lines = [
    // The view's own verbs tell why they cannot be done now, which may be long.
    ...(own === undefined ? [] : [...wrapLine(heading(own), cells), ...inFull(own)]),
    ...others.flatMap((section) => [
      BLANK,
      heading(section),
      ...(isWide ? inColumns(section, cells) : inFull(section)),
    ]),
  ];
  return { lines, offset: Math.max(0, Math.min(helpOffset, lines.length - bodyRows(size))) };
}

/** By the keys that the operator gave, and with commands of their own. */
export function sectionsOf(state: State, views: readonly View[]): readonly Section[] {
  const [own, ...others] = keySectionsOf(state, views);
  const commands = commandsHere(state, views).map(({ key, name, run }) => ({
    key: chordText(key),
    help: `${name}: ${run.kind === "words" ? run.words.join(" ") : `sh -c ${run.text}`}`,
  }));
  const sections = [
    ...(own === undefined ? [] : [own]),
    ...(commands.length === 0 ? [] : [{ head: "Your commands", entries: commands }]),
    ...others,
  ];
  return sections.map(({ head, entries }) => ({
    head,
    entries:
      head === "Your commands"
        ? entries
        : entries.map((entry) => ({
            ...entry,
            key: entry.key.includes(":") ? entry.key : shownKeys(state.keys, entry.key),
          })),
  }));
}

function keySectionsOf(state: State, views: readonly View[]): readonly Section[] {
  const view = viewOf(state, views);
  const offers = offersOf(state, views).filter(({ isShown }) => isShown);
  return [
    {
      head: `${view.title}: ${view.about}`,
      entries: offers.map(({ offer, why }) => {
        const { chord, does, help } = VERBS[offer.verb];
        return {
          key: chordText(chord),
          help: offer.does === undefined || offer.does === does ? help : `${offer.does}: ${help}`,
          why,
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
      })),
    },
  ];
}

const entryOf = ({ chords, help }: { readonly chords: readonly string[]; readonly help: string }): Entry => ({
  key: chordsText(chords),
  help,
});

const OF_PAGES: readonly MovingId[] = ["up", "down", "page_up", "page_down", "first", "last"];

/** Beside these: in the result of a statement. */
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
    return name !== "query" || body.sql !== undefined;
  });
}

function commonOf({ link }: State): readonly CommonId[] {
  const all = Object.keys(COMMON).filter((name): name is CommonId => name in COMMON);
  return all.filter((name) => name !== "door" || link.doors > 1);
}

const heading = ({ head }: Section): Line => line(head, "strong");

const widthOf = (entries: readonly Entry[]): number => Math.max(4, ...entries.map(({ key }) => cellsOf(key)));

/** One a line, in full. */
function listed({ key, help, why }: Entry, cells: number, width: number): readonly Line[] {
  const words: Span[] = [{ text: help, ...(why !== undefined && { tone: "dim" as const }) }];
  if (why !== undefined) words.push({ text: ` (not now: ${why})`, tone: "warn" });
  const indent = width + 4;
  const [first = BLANK, ...rest] = wrapLine(words, Math.max(10, cells - indent));
  return [
    [{ text: `  ${padTo(key, width)}  `, tone: "strong" }, ...first],
    ...rest.map((more) => [{ text: " ".repeat(indent) }, ...more]),
  ];
}

/** Two side by side, down the left first; what does not fit goes on in the next line. */
function inColumns({ entries }: Section, cells: number): readonly Line[] {
  const half = Math.floor((cells - 2) / 2);
  const width = widthOf(entries);
  const rows = Math.ceil(entries.length / 2);
  return Array.from({ length: rows }, (_, at) => {
    const [left = [], right = []] = [entries[at], entries[at + rows]].map((entry) =>
      entry === undefined ? [] : listed(entry, half, width),
    );
    return Array.from({ length: Math.max(left.length, right.length) }, (_, line) => [
      ...fitLine(left[line] ?? BLANK, half),
      { text: "  " },
      ...(right[line] ?? BLANK),
    ]);
  }).flat();
}
