/** In the lower border: the views that digits go to, the one on the screen in inverse. Names are cut where room is short. */

import { cellsOfLine } from "../format/fit.ts";
import { createRecall } from "../model/remember.ts";
import type { State } from "../model/state.ts";
import type { Line } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { isHelpOpen, viewOf } from "../store/select.ts";
import { modeOf } from "../workbench/keys.ts";

/** Letters of a name, and blanks between two; the first that fits is taken, the last is cut. */
const FORMS = [
  [Number.POSITIVE_INFINITY, 2],
  [Number.POSITIVE_INFINITY, 1],
  [7, 1],
  [6, 1],
  [5, 1],
  [4, 1],
  [3, 1],
] as const;

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
  const drawn = ([letters, blanks]: readonly [number, number]): Line =>
    all.flatMap(({ view, digit }, at) => [
      ...(at === 0 ? [] : [{ text: " ".repeat(blanks) }]),
      { text: digit, tone: "strong" as const, ...(view === here && { isInverse: true }) },
      {
        text: ` ${nameOf(view).slice(0, letters)}`,
        tone: "dim" as const,
        ...(view === here && { tone: "plain" as const, isInverse: true }),
      },
    ]);
  const forms = FORMS.map(drawn);
  return forms.find((line) => cellsOfLine(line) <= cells) ?? forms.at(-1) ?? [];
}

/** `audit-heads` is the audit. */
const nameOf = ({ id }: View): string => id.split("-")[0] ?? id;
