/**
 * The keys that work here, made of the same tables that the handler reads: the view's verbs with why they cannot be done
 * now, what moves, what works everywhere, and where one can go. Where the screen is low, the lesser ones become prose.
 */

import { cellsOf } from "../../base/index.ts";
import { COMMON, type CommonId, MOVING, type MovingId, VERBS } from "../model/keys.ts";
import type { State } from "../model/state.ts";
import { BLANK, type Line, line, type Span } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { bodyCells, bodyRows } from "../store/layout.ts";
import { offersOf, viewOf } from "../store/select.ts";
import { WORKBENCH_KEYS } from "../workbench/keys.ts";
import { fitLine, wrapLine } from "./fit.ts";
import { chordsText, chordText } from "./keys-text.ts";

interface Entry {
  readonly key: string;
  /** Two or three words, where there is no room for more. */
  readonly does: string;
  readonly help: string;
  readonly why?: string | undefined;
}

interface Section {
  readonly head: string;
  readonly entries: readonly Entry[];
}

/** Lines no wider than the body; as many as it has, where that can be. */
export function drawHelp(state: State, views: readonly View[]): readonly Line[] {
  const cells = bodyCells(state.size);
  const rows = bodyRows(state.size);
  const [own, ...all] = sectionsOf(state, views);
  const others = all.filter(({ entries }) => entries.length > 0);
  const verbs = own === undefined || own.entries.length === 0 ? [] : [own];
  // The later ones become prose first, and the view's own verbs last.
  const ways: readonly (readonly Line[])[] = [
    ...Array.from({ length: others.length + 1 }, (_, prose) => [
      ...verbs.flatMap((section) => [heading(section), ...section.entries.flatMap((entry) => listed(entry, cells))]),
      ...others.flatMap((section, at) =>
        at >= others.length - prose ? inProse(section, cells) : [heading(section), ...inColumns(section, cells)],
      ),
    ]),
    [
      ...verbs.flatMap((section) => [heading(section), ...inColumns(section, cells)]),
      ...others.flatMap((section) => inProse(section, cells)),
    ],
  ];
  const fitting = ways.find((lines) => lines.length <= rows);
  return fitting ?? [...(ways.at(-1) ?? []).slice(0, rows - 1), line("… a larger screen shows the rest", "dim")];
}

export function sectionsOf(state: State, views: readonly View[]): readonly Section[] {
  const view = viewOf(state, views);
  const offers = offersOf(state, views).filter(({ isShown }) => isShown);
  return [
    {
      head: `${view.title}: ${view.about}`,
      entries: offers.map(({ offer, why }) => {
        const { chord, does, help } = VERBS[offer.verb];
        return {
          key: chordText(chord),
          does: offer.does ?? does,
          help: offer.does === undefined ? help : offer.does,
          why,
        };
      }),
    },
    ...(view.body.kind === "workbench"
      ? [{ head: "Workbench", entries: Object.values(WORKBENCH_KEYS).map(entryOf) }]
      : []),
    { head: "Moving", entries: movingOf(view, views).map((id) => entryOf(MOVING[id])) },
    { head: "Everywhere", entries: commonOf(state).map((id) => entryOf(COMMON[id])) },
    {
      head: "Views",
      entries: views.map(({ id, aliases, digit, about }) => ({
        key: digit ?? `:${aliases[0] ?? id}`,
        does: id,
        help: `${id}${aliases.length === 0 ? "" : ` (${aliases.join(", ")})`}: ${about}`,
      })),
    },
  ];
}

const entryOf = ({
  chords,
  does,
  help,
}: {
  readonly chords: readonly string[];
  readonly does: string;
  readonly help: string;
}): Entry => ({
  key: chordsText(chords),
  does,
  help,
});

const OF_PAGES: readonly MovingId[] = ["up", "down", "page_up", "page_down", "first", "last"];

function movingOf({ body, offers, group, id }: View, views: readonly View[]): readonly MovingId[] {
  const hasTabs = group !== undefined && views.some((other) => other.group === group && other.id !== id);
  const all = Object.keys(MOVING).filter((name): name is MovingId => name in MOVING);
  return all.filter((name) => {
    if (name === "tab") return hasTabs;
    if (body.kind !== "table") return body.kind === "page" && OF_PAGES.includes(name);
    if (name === "mark") return offers.some(({ takesMany }) => takesMany);
    return name !== "query" || body.sql !== undefined;
  });
}

function commonOf({ link }: State): readonly CommonId[] {
  const all = Object.keys(COMMON).filter((name): name is CommonId => name in COMMON);
  return all.filter((name) => name !== "door" || link.doors > 1);
}

const heading = ({ head }: Section): Line => line(head, "strong");

/** One a line, in full. */
function listed({ key, help, why }: Entry, cells: number): readonly Line[] {
  const words: Span[] = [{ text: help, ...(why !== undefined && { tone: "dim" as const }) }];
  if (why !== undefined) words.push({ text: ` (not now: ${why})`, tone: "warn" });
  const [first = BLANK, ...rest] = wrapLine(words, Math.max(10, cells - 6));
  return [
    [{ text: `  ${key.padEnd(4)}`, tone: "strong" }, ...first],
    ...rest.map((more) => [{ text: "      " }, ...more]),
  ];
}

/** Two side by side, cut at their ends. */
function inColumns({ entries }: Section, cells: number): readonly Line[] {
  const half = Math.floor((cells - 2) / 2);
  const least = Math.max(4, ...entries.map(({ key }) => cellsOf(key)));
  const draw = ({ key, help, why }: Entry): Line =>
    fitLine(
      [
        { text: `  ${key.padEnd(least + 1)}`, tone: "strong" },
        { text: why === undefined ? help : `not now: ${why}`, ...(why !== undefined && { tone: "warn" as const }) },
      ],
      half,
    );
  const rows = Math.ceil(entries.length / 2);
  return Array.from({ length: rows }, (_, at) => {
    const [left, right] = [entries[at], entries[at + rows]];
    return [...(left === undefined ? [] : draw(left)), { text: "  " }, ...(right === undefined ? [] : draw(right))];
  });
}

/** `Moving  up k up · down j down · …` */
function inProse(section: Section, cells: number): readonly Line[] {
  const lines: Line[] = [];
  let current: Span[] = [{ text: section.head, tone: "strong" }];
  let width = cellsOf(section.head);
  for (const { key, does } of section.entries) {
    const own = cellsOf(key) + cellsOf(does) + 3;
    if (width + own > cells) {
      lines.push(current);
      [current, width] = [[], 0];
    }
    current.push({ text: `  ${key}`, tone: "strong" }, { text: ` ${does}` });
    width += own;
  }
  return [...lines, current];
}
