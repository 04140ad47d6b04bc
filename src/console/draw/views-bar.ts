/** In the lower border: the views that digits go to, the one on the screen in inverse. Where room is short, names are left out from the end. */

import { cellsOfLine } from "../format/fit.ts";
import { createRecall } from "../model/remember.ts";
import type { State } from "../model/state.ts";
import type { Line } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { isHelpOpen, viewOf } from "../store/select.ts";
import { modeOf } from "../workbench/keys.ts";

/** Empty where a digit is typed and goes nowhere. */
export function viewsBar(state: State, views: readonly View[], cells: number): Line {
  const here = viewOf(state, views);
  if (state.dialog !== undefined || isHelpOpen(state)) return [];
  if (here.body.kind === "workbench" && state.page === undefined && modeOf(state.workbench) !== "result") return [];
  return BARS([views, here, cells], () => barOf(views, here, cells));
}

/** The same for as long as one stays in a view: it is part of every frame. */
const BARS = createRecall<Line>();

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
  // The name of the view on the screen goes last.
  for (const { view } of [...all.filter((it) => it.view !== here).reverse(), { view: here }]) {
    const line = drawn(named, 1);
    if (fits(line)) return line;
    named.delete(view);
  }
  return drawn(named, 1);
}

/** `audit-heads` is the audit. */
const nameOf = ({ id }: View): string => id.split("-")[0] ?? id;
