/**
 * Effects of mouse reports on a screen: keys as if pressed, or a click on a row. The mouse confirms nothing: in a dialog only
 * the way out can be clicked.
 */

import { chordText } from "../format/keys-text.ts";
import { CHARTS, COMMON, DIALOG, MOVING, VERBS } from "../model/key-bindings.ts";
import { type Chord, type MouseReport, NAMED_CHORDS } from "../model/key-event.ts";
import type { Event, State } from "../model/state.ts";
import { type Line, textOfLine } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { bodyRows, isTooSmall, tableRegions } from "../store/layout.ts";
import { contextOf, isHelpOpen, type Listing, listingOf, statusOf, tableStateOf, viewOf } from "../store/selectors.ts";
import { GAP } from "./column-layout.ts";
import { drawTitle } from "./frame-title.ts";
import { drawHints } from "./hints.ts";
import { placedColumns, type TableSize } from "./table-lines.ts";
import { viewsBar } from "./views-bar.ts";

/** Rows per step of the wheel. */
const WHEEL_ROWS = 3;
/** Lines above the body: identity, health, title. */
const ABOVE_BODY = 3;

export function eventsOfMouse(state: State, views: readonly View[], report: MouseReport): readonly Event[] {
  if (isTooSmall(state.size)) return [];
  if (report.kind !== "press") return wheel(state, views, report.kind === "wheel_down");
  const { column, row } = report;
  const foot = ABOVE_BODY + bodyRows(state.size);
  if (row === foot + 1) return keyEvents(hintAt(state, views, column));
  if (state.dialog !== undefined || state.prompt !== undefined || state.awaitsColumnFor !== undefined) return [];
  if (row === foot) return keyEvents(digitAt(state, views, column));
  if (row === ABOVE_BODY - 1) return tabsTo(state, views, column);
  return rowAt(state, views, row - ABOVE_BODY, column);
}

const key = (chord: Chord): Event => ({ kind: "key", chord });
const keyEvents = (chord: Chord | undefined): readonly Event[] => (chord === undefined ? [] : [key(chord)]);

function wheel(state: State, views: readonly View[], isDown: boolean): readonly Event[] {
  if ((state.prompt !== undefined && !isHelpOpen(state)) || state.awaitsColumnFor !== undefined) return [];
  const { kind } = viewOf(state, views).body;
  const isOver = state.page !== undefined || isHelpOpen(state);
  if (state.dialog !== undefined || (kind === "workbench" && !isOver)) return [key(isDown ? "pagedown" : "pageup")];
  if (kind === "charts" && !isOver) return [key(isDown ? "right" : "left")];
  return Array.from({ length: WHEEL_ROWS }, () => key(isDown ? "down" : "up"));
}

/** Returns the key of the hint at that column: of its letter or its text. */
function hintAt(state: State, views: readonly View[], column: number): Chord | undefined {
  const line: Line = drawHints(state, views);
  let at = 0;
  let found: string | undefined;
  for (const { text, tone } of line) {
    if (tone === "strong") found = text.trim();
    if (column < at + text.length) {
      const isBlank = (text[column - at] ?? " ") === " " && tone !== "dim";
      const chord = isBlank ? undefined : chordOf(state, found);
      return state.dialog === undefined || chord === "esc" ? chord : undefined;
    }
    at += text.length;
  }
  return undefined;
}

const CHORDS: readonly Chord[] = [
  ...[...Object.values(COMMON), ...Object.values(MOVING), ...Object.values(CHARTS), ...Object.values(DIALOG)].flatMap(
    ({ chords }) => chords as readonly Chord[],
  ),
  ...Object.values(VERBS).map(({ chord }) => chord),
  ...NAMED_CHORDS,
];

/** Returns the chord of the keys in a hint; the first one if there are several. */
function chordOf({ keys, commands }: State, text: string | undefined): Chord | undefined {
  const [first] = text?.split(" ") ?? [];
  return [...keys.ownOf.keys(), ...commands.map(({ key: own }) => own), ...CHORDS].find(
    (one) => chordText(one) === first,
  );
}

/** Returns the digit at that column in the bar of views, at the left of the lower border. */
function digitAt(state: State, views: readonly View[], column: number): Chord | undefined {
  const bar = textOfLine(viewsBar(state, views, Math.max(0, state.size.columns - 6)));
  // The bar begins after a corner, a rule and a blank.
  const at = column - 3;
  for (const match of bar.matchAll(/(\d) (\S+)/g)) {
    if (at >= match.index && at < match.index + match[0].length) return match[1];
  }
  return undefined;
}

/** Returns as many tab changes as lead to the tab at that column. */
function tabsTo(state: State, views: readonly View[], column: number): readonly Event[] {
  const view = viewOf(state, views);
  const tabs = view.group === undefined ? [] : views.filter(({ group }) => group === view.group);
  const title = textOfLine(drawTitle(state, views, statusOf(state, views)));
  let from = title.indexOf("Tab: ");
  if (tabs.length < 2 || from < 0 || state.page !== undefined || isHelpOpen(state)) return [];
  for (const [at, tab] of tabs.entries()) {
    from = title.indexOf(tab.title, from);
    if (from < 0) return [];
    if (column >= from && column < from + tab.title.length) {
      const presses = (at - tabs.indexOf(view) + tabs.length) % tabs.length;
      return Array.from({ length: presses }, () => key("tab"));
    }
    from += tab.title.length;
  }
  return [];
}

/**
 * Returns the events of a click on a row. On the row under the cursor it opens the row, which changes nothing; on another row it
 * moves the cursor.
 */
function rowAt(state: State, views: readonly View[], line: number, column: number): readonly Event[] {
  if (state.page !== undefined || isHelpOpen(state)) return [];
  const listing = listingOf(state, views);
  if (listing === undefined) return [];
  const { above, head, rows, side } = tableRegions(state.size, viewOf(state, views), state.preferences.isSplit);
  if (column >= state.size.columns - side) return [];
  if (line === above) return headAt(state, listing, { columns: state.size.columns - side, rows }, column);
  const at = line - above - head;
  if (at < 0 || at >= rows) return [];
  const index = tableStateOf(state).offset + at;
  if (listing.order[index] === undefined) return [];
  return index === listing.cursor ? [key("enter")] : [{ kind: "pointed", index }];
}

/** Returns the events of a click on a column's head. The click sorts by the column; a second one reverses the order. */
function headAt(state: State, listing: Listing, size: TableSize, column: number): readonly Event[] {
  // The first column begins after the border and a blank.
  let from = 2;
  for (const { head, cells } of placedColumns(listing, tableStateOf(state), size, contextOf(state).now)) {
    if (column >= from && column < from + cells) return [{ kind: "pointed_head", column: head.id }];
    from += cells + GAP;
  }
  return [];
}
