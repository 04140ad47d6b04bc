/** Pages of text over a view: opening them, moving in them, and those that the store writes itself. */

import { escapeControls } from "../../base/index.ts";
import { timeOfDay } from "../format/times.ts";
import { MOVING } from "../model/key-bindings.ts";
import type { Chord } from "../model/key-event.ts";
import type { LogLine, PageState, State, Step } from "../model/state.ts";
import { type Line, line, span, textOfLine } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { tableStateOf, textOf } from "./current-view.ts";
import { withFlash } from "./flash.ts";
import { bodyRows } from "./layout.ts";
import { clamp, withTable } from "./navigation.ts";
import { isOneOf, stateOnly } from "./step-helpers.ts";

/** Opens a page. Its id is the current `nextId`. `lines: undefined` means that the content is still loading. */
export function openPage(state: State, title: string, lines: readonly Line[] | undefined): State {
  const { nextId } = state;
  return {
    ...state,
    page: { id: nextId, title, lines, offset: 0, filter: "" },
    awaitsColumnFor: undefined,
    nextId: nextId + 1,
  };
}

/** Handles a key of pages. Returns `undefined` for any other chord. */
export function stepPage(state: State, page: PageState, chord: Chord, views: readonly View[]): Step | undefined {
  const offset = scrollPageBy(page.offset, chord, state, views);
  if (offset !== undefined) return stateOnly({ ...state, page: { ...page, offset } });
  if (isOneOf(chord, MOVING.copy)) return copyPage(state, page);
  return undefined;
}

/** Handles the keys of pages for a view that is a page. */
export function stepPageView(state: State, chord: Chord, views: readonly View[]): Step | undefined {
  const offset = scrollPageBy(tableStateOf(state).offset, chord, state, views);
  return offset === undefined ? undefined : stateOnly(withTable(state, { offset }));
}

const scrollPageBy = (from: number, chord: Chord, state: State, views: readonly View[]): number | undefined =>
  scrollTo(from, chord, { lines: textOf(state, views)?.lines.length ?? 0, page: bodyRows(state.size) });

/** Returns the first line on the screen after the key, for a text of that many lines; `undefined` if it is not a moving key. */
function scrollTo(
  from: number,
  chord: Chord,
  { lines, page }: { readonly lines: number; readonly page: number },
): number | undefined {
  const last = Math.max(0, lines - page);
  const to = (offset: number): number => clamp(offset, 0, last);
  if (isOneOf(chord, MOVING.up)) return to(from - 1);
  if (isOneOf(chord, MOVING.down)) return to(from + 1);
  if (isOneOf(chord, MOVING.page_up)) return to(from - page);
  if (isOneOf(chord, MOVING.page_down)) return to(from + page);
  if (isOneOf(chord, MOVING.first)) return 0;
  if (isOneOf(chord, MOVING.last)) return last;
  return undefined;
}

function copyPage(state: State, { lines }: PageState): Step {
  if (lines === undefined) return stateOnly(withFlash(state, "there is nothing to copy yet"));
  return {
    state: withFlash(state, "copied the page"),
    effects: [{ kind: "copy", text: lines.map(textOfLine).join("\n") }],
  };
}

export function linesOfLog(log: readonly LogLine[]): readonly Line[] {
  if (log.length === 0) return [line("No messages yet.", "dim")];
  return log.map(({ at, message }) => [span(`${timeOfDay(at)}  `, "dim"), span(escapeControls(message))]);
}
