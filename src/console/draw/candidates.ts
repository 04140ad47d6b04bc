/** Over the lowest rows of the body while `:` is typed: where one may go, the one that Enter takes in inverse. */

import { cellsOf, escapeControls } from "../../base/index.ts";
import { padTo } from "../format/cut.ts";
import { bodyRow, ruleLine } from "../format/frame.ts";
import type { State } from "../model/state.ts";
import { type Line, line } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { type Candidate, candidatesOf, highlighted } from "../store/candidates.ts";
import { commandOfText } from "../store/command.ts";
import { bodyCells, bodyRows } from "../store/layout.ts";

const MOST_ROWS = 9;
const WIDEST_NAME = 40;
const GAP = 2;

export interface Candidates {
  readonly shown: readonly Candidate[];
  /** Index into `shown`; undefined: none is highlighted. */
  readonly at: number | undefined;
  readonly total: number;
}

/** Undefined: no command is being typed. */
export function shownCandidates(state: State, views: readonly View[]): Candidates | undefined {
  const { prompt, size } = state;
  if (prompt?.kind !== "command") return undefined;
  const all = candidatesOf(state, views, prompt.edit.text);
  const at = highlighted(prompt, all);
  const rows = Math.max(1, Math.min(MOST_ROWS, Math.floor(bodyRows(size) / 2)));
  const from = Math.max(0, Math.min((at ?? 0) - rows + 1, all.length - rows));
  return { shown: all.slice(from, from + rows), at: at === undefined ? undefined : at - from, total: all.length };
}

/** With their sides; none where no command is being typed. */
export function drawCandidates(state: State, views: readonly View[]): readonly Line[] {
  const candidates = shownCandidates(state, views);
  if (candidates === undefined) return [];
  const { columns } = state.size;
  const { shown, at, total } = candidates;
  const cells = bodyCells(state.size);
  const names = shown.map(({ text }) => escapeControls(text));
  const width = Math.min(WIDEST_NAME, Math.floor(cells / 2), Math.max(0, ...names.map(cellsOf)));
  const left = total - shown.length;
  const head = left > 0 ? `go to  ${left} more` : "go to";
  return [
    bodyRow(ruleLine(line(head, "dim"), cells), columns),
    ...(shown.length === 0 ? [bodyRow(nothing(state, views), columns)] : []),
    ...shown.map(({ about }, row) =>
      bodyRow(
        [
          { text: padTo(names[row] ?? "", width + GAP), tone: "strong" },
          { text: about, tone: "dim" },
        ],
        columns,
        row === at ? { before: ">", isInverse: true } : {},
      ),
    ),
  ];
}

/** What the words come to, where they are none of the names. */
function nothing(state: State, views: readonly View[]): Line {
  const command = commandOfText(state.prompt?.edit.text ?? "", views);
  if (command.kind === "wrong") return line(command.words, "warn");
  if (command.kind !== "go") return [];
  const view = views.find(({ id }) => id === command.place.view);
  const filter = command.filter === undefined ? "" : `, filtered by ${command.filter}`;
  return line(`${view?.id ?? ""}: ${view?.subject ?? view?.about ?? ""}${filter}`, "dim");
}
