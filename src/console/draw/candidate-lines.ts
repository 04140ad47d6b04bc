/**
 * Candidate list over the lowest rows of the body while something with completion is typed: targets of `:`, or file names. The
 * selected candidate is inverted.
 */

import { cellsOf, escapeControls } from "../../base/index.ts";
import { bodyRow, ruleLine } from "../format/box-frame.ts";
import { cutMiddle, padTo } from "../format/cut-text.ts";
import type { PromptState, State } from "../model/state.ts";
import { type Line, line } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { isReadingNames } from "../store/command-palette.ts";
import { bodyCells, bodyRows } from "../store/layout.ts";
import { candidatesOf, highlighted } from "../store/name-candidates.ts";
import { commandOfText } from "../store/parse-command.ts";

const MAX_ROWS = 9;
const WIDEST_NAME = 40;
const GAP = 2;

interface Candidates {
  readonly head: string;
  readonly shown: readonly { readonly text: string; readonly about: string }[];
  /** Index into `shown`; `undefined` if none is highlighted. */
  readonly at: number | undefined;
  readonly total: number;
}

/** Returns the candidates on the screen; `undefined` if the typed text has no completion. */
export function shownCandidates(state: State, views: readonly View[]): Candidates | undefined {
  const { prompt, size } = state;
  const offered = prompt === undefined ? undefined : candidatesFor(state, prompt, views);
  if (offered === undefined) return undefined;
  const { all, at, head } = offered;
  const rows = Math.max(1, Math.min(MAX_ROWS, Math.floor(bodyRows(size) / 2)));
  const from = Math.max(0, Math.min((at ?? 0) - rows + 1, all.length - rows));
  return {
    head,
    shown: all.slice(from, from + rows),
    at: at === undefined ? undefined : at - from,
    total: all.length,
  };
}

function candidatesFor(
  state: State,
  prompt: PromptState,
  views: readonly View[],
): (Pick<Candidates, "head" | "at"> & { readonly all: Candidates["shown"] }) | undefined {
  if (prompt.kind === "command") {
    const all = candidatesOf(state, views, prompt.edit.text);
    return { head: `go to${namesNote(state, prompt, views)}`, all, at: highlighted(prompt, all) };
  }
  if (prompt.found === undefined) return undefined;
  return { head: "files", all: prompt.found.map((text) => ({ text, about: "" })), at: prompt.chosen };
}

function namesNote(state: State, { enteredAt }: PromptState, views: readonly View[]): string {
  if (!isReadingNames(state, views)) return "";
  return enteredAt === undefined ? "  loading names" : "  loading names, then runs; Esc cancels";
}

/** Draws the list with its side borders; empty if there is nothing to show. */
export function drawCandidates(state: State, views: readonly View[]): readonly Line[] {
  const candidates = shownCandidates(state, views);
  if (candidates === undefined) return [];
  const { columns } = state.size;
  const { head, shown, at, total } = candidates;
  const cells = bodyCells(state.size);
  const names = shown.map(({ text }) => escapeControls(text));
  const most = shown.every(({ about }) => about === "") ? cells - GAP : Math.min(WIDEST_NAME, Math.floor(cells / 2));
  const width = Math.min(most, Math.max(0, ...names.map(cellsOf)));
  const left = total - shown.length;
  return [
    bodyRow(ruleLine(line(left > 0 ? `${head}  ${left} more` : head, "dim"), cells), columns),
    ...(shown.length === 0 ? [bodyRow(noMatchLine(state, views), columns)] : []),
    ...shown.map(({ about }, row) =>
      bodyRow(
        [
          { text: padTo(cutMiddle(names[row] ?? "", width), width + GAP), tone: "strong" },
          { text: about, tone: "dim" },
        ],
        columns,
        row === at ? { before: ">", isInverse: true } : {},
      ),
    ),
  ];
}

/** Explains the typed text if it is none of the names. */
function noMatchLine(state: State, views: readonly View[]): Line {
  if (state.prompt?.kind !== "command") return line("no file begins with this", "warn");
  if (isReadingNames(state, views)) return line("loading …", "dim");
  const command = commandOfText(state.prompt?.edit.text ?? "", views);
  if (command.kind === "wrong") return line(command.message, "warn");
  if (command.kind !== "go") return [];
  const view = views.find(({ id }) => id === command.place.view);
  const filter = command.filter === undefined ? "" : `, filtered by ${command.filter}`;
  return line(`${view?.id ?? ""}: ${view?.subject ?? view?.about ?? ""}${filter}`, "dim");
}
