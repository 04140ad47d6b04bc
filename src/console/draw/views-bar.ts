/**
 * Bar of views in the lower border: those that digits open, with the current one inverted. If there is not enough room, names
 * are dropped from the end.
 */

import { cellsOfLine } from "../format/fit-line.ts";
import { createMemo } from "../model/remember.ts";
import type { State } from "../model/state.ts";
import type { Line } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { isHelpOpen, viewOf } from "../store/selectors.ts";
import { modeOf } from "../workbench/workbench-keys.ts";

/** Returns the bar; an empty line while digits are text. */
export function viewsBar(state: State, views: readonly View[], cells: number): Line {
  const here = viewOf(state, views);
  if (state.dialog !== undefined || isHelpOpen(state)) return [];
  if (here.body.kind === "workbench" && state.page === undefined && modeOf(state.workbench) !== "result") return [];
  return BARS([views, here, cells], () => barOf(views, here, cells));
}

/** Cache of the bar, because it is part of every frame and stays the same while the view does. */
const BARS = createMemo<Line>();

function barOf(views: readonly View[], here: View, cells: number): Line {
  const numbered = views.flatMap((view) => (view.digit === undefined ? [] : [{ view, digit: view.digit }]));
  const all = [...numbered].sort((a, b) => (a.digit < b.digit ? -1 : 1));
  const drawn = (named: ReadonlySet<View>, blanks: number): Line =>
    all.flatMap(({ view, digit }, at) => [
      ...(at === 0 ? [] : [{ text: " ".repeat(blanks) }]),
      { text: digit, tone: "strong" as const, ...(view === here && { isInverse: true }) },
      {
        text: named.has(view) ? ` ${nameOf(view)}` : "",
        tone: "dim" as const,
        ...(view === here && { tone: "plain" as const, isInverse: true }),
      },
    ]);
  const fits = (line: Line): boolean => cellsOfLine(line) <= cells;
  const named = new Set(all.map(({ view }) => view));
  const airy = drawn(named, 2);
  if (fits(airy)) return airy;
  // The name of the current view is dropped last.
  for (const { view } of [...all.filter((it) => it.view !== here).reverse(), { view: here }]) {
    const line = drawn(named, 1);
    if (fits(line)) return line;
    named.delete(view);
  }
  return drawn(named, 1);
}

/** Shortens `audit-heads` to `audit`. */
const nameOf = ({ id }: View): string => id.split("-")[0] ?? id;
