/**
 * Help as lines: the entries of `help-entries.ts` under their heads, in two columns if there is room, with the one that Enter
 * runs marked. It scrolls so that the marked entry is visible.
 */

import { cellsOf, escapeControls } from "../../base/index.ts";
import { padTo } from "../format/cut-text.ts";
import { fitLine, wrapLine } from "../format/fit-line.ts";
import type { State } from "../model/state.ts";
import { BLANK, type Line, line, type Span } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { type Entry, type Section, searchEntries } from "./help-entries.ts";
import { bodyCells, bodyRows, ROOMY_SIZE } from "./layout.ts";

interface PlacedLines {
  readonly lines: readonly Line[];
  /** First line of the chosen entry within `lines`; `undefined` if it is elsewhere. */
  readonly chosenAt: number | undefined;
}

/** Returns lines no wider than the body, and the index of the first on the screen. */
export function helpOf(
  state: State,
  views: readonly View[],
): { readonly lines: readonly Line[]; readonly offset: number } {
  const { size } = state;
  const cells = bodyCells(size);
  const { sections, chosen } = searchEntries(state, views);
  const isWide = size.columns >= ROOMY_SIZE.columns;
  const lines: Line[] = [];
  let at = 0;
  let chosenAt = 0;
  for (const [index, section] of sections.entries()) {
    // The first section explains why verbs are unavailable, which may be long.
    const isFirst = index === 0 && section.entries.some(({ disabledReason }) => disabledReason !== undefined);
    const { entries } = section;
    lines.push(...(lines.length === 0 ? [] : [BLANK]), ...wrapLine(heading(section), cells));
    const placed = (isWide && !isFirst ? inTwoColumns : inOneColumn)(entries, cells, chosen - at);
    if (placed.chosenAt !== undefined) chosenAt = lines.length + placed.chosenAt;
    lines.push(...placed.lines);
    at += entries.length;
  }
  if (lines.length === 0) {
    const searched = escapeControls(state.prompt?.edit.text ?? "");
    return {
      lines: wrapLine(line(`No key or action matches ${searched}. Ctrl-U clears the search.`), cells),
      offset: 0,
    };
  }
  const rows = bodyRows(size);
  const offset = Math.min(chosenAt - Math.floor(rows / 2), lines.length - rows);
  return { lines, offset: Math.max(0, offset) };
}

const heading = ({ head }: Section): Line => line(head, "strong");

const widthOf = (entries: readonly Entry[]): number => Math.max(4, ...entries.map(({ key }) => cellsOf(key)));

/** Writes one entry per line, with its whole text. */
function inOneColumn(entries: readonly Entry[], cells: number, chosen: number): PlacedLines {
  const width = widthOf(entries);
  const lines: Line[] = [];
  let chosenAt: number | undefined;
  for (const [at, entry] of entries.entries()) {
    if (at === chosen) chosenAt = lines.length;
    lines.push(...entryLines(entry, cells, width, at === chosen));
  }
  return { lines, chosenAt };
}

function entryLines(
  { key, help, disabledReason }: Entry,
  cells: number,
  width: number,
  isChosen: boolean,
): readonly Line[] {
  const content: Span[] = [{ text: help, ...(disabledReason !== undefined && { tone: "dim" as const }) }];
  if (disabledReason !== undefined) content.push({ text: ` (unavailable: ${disabledReason})`, tone: "warn" });
  const indent = width + 4;
  const [first = BLANK, ...rest] = wrapLine(content, Math.max(10, cells - indent));
  const lines: readonly Line[] = [
    [{ text: `${isChosen ? ">" : " "} ${padTo(key, width)}  `, tone: "strong" }, ...first],
    ...rest.map((more) => [{ text: " ".repeat(indent) }, ...more]),
  ];
  return isChosen ? lines.map((one) => fitLine(one, cells).map((span) => ({ ...span, isInverse: true }))) : lines;
}

/** Writes two columns of entries, the left one first; long texts continue in the next line. */
function inTwoColumns(entries: readonly Entry[], cells: number, chosen: number): PlacedLines {
  const half = Math.floor((cells - 2) / 2);
  const width = widthOf(entries);
  const rows = Math.ceil(entries.length / 2);
  const lines: Line[] = [];
  let chosenAt: number | undefined;
  for (let row = 0; row < rows; row += 1) {
    const [left = [], right = []] = [row, row + rows].map((at) => {
      const entry = entries[at];
      if (entry !== undefined && at === chosen) chosenAt = lines.length;
      return entry === undefined ? [] : entryLines(entry, half, width, at === chosen);
    });
    for (let of = 0; of < Math.max(left.length, right.length); of += 1)
      lines.push([...fitLine(left[of] ?? BLANK, half), { text: "  " }, ...(right[of] ?? BLANK)]);
  }
  return { lines, chosenAt };
}
