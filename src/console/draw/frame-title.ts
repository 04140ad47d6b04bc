/** Upper border of the view: title, number of rows, sort, filter and tabs; and the lower border with the position. */

import { cellsOf, escapeControls } from "../../base/index.ts";
import { borderLine } from "../format/box-frame.ts";
import { cellsOfLine, cutLine } from "../format/fit-line.ts";
import { gapText } from "../format/missing-nodes.ts";
import { count, plural } from "../format/numbers.ts";
import { coverageText } from "../model/nodes.ts";
import type { State } from "../model/state.ts";
import type { Line, Span } from "../model/text.ts";
import type { View } from "../model/view.ts";
import {
  contextOf,
  gapsOf,
  isHelpOpen,
  listingOf,
  tableStateOf,
  textOf,
  type ViewStatus,
  viewOf,
} from "../store/selectors.ts";
import { viewsBar } from "./views-bar.ts";

export function drawTitle(state: State, views: readonly View[], status: ViewStatus): Line {
  const { columns } = state.size;
  if (isHelpOpen(state))
    return borderLine("top", columns, { left: [{ text: `Help: ${viewOf(state, views).title}`, tone: "strong" }] });
  if (state.page !== undefined) {
    const { title, lines, filter } = state.page;
    const content = [
      { text: title, tone: "strong" as const },
      ...(lines === undefined ? [titlePart("loading")] : filterSpans(state, views, filter)),
    ];
    return borderLine("top", columns, { left: content });
  }
  const view = viewOf(state, views);
  const right = missing(state, views);
  const spans = [...viewSpans(state, view), ...rowSpans(state, views, status), ...coverageSpans(state, view, status)];
  // Corners, blanks and dashes of the border take six cells.
  const room = columns - 6 - (right.length === 0 ? 0 : cellsOfLine(right) + 3);
  const tabs = tabsOf(view, views).find((it) => cellsOfLine([...spans, ...it]) <= room) ?? [];
  return borderLine("top", columns, { left: [...spans, ...tabs], right });
}

/** Returns the missing nodes. They are at the right, so that nothing pushes them out. */
function missing(state: State, views: readonly View[]): Line {
  const gaps = gapsOf(state, views);
  if (gaps === undefined) return [];
  return cutLine([{ text: gapText(gaps), tone: "warn" }], Math.floor(state.size.columns / 2));
}

function viewSpans({ place }: State, { title, digit, id }: View): readonly Span[] {
  return [
    { text: title, tone: "strong" },
    ...(place.subject === undefined ? [] : [{ text: ` ${place.subject}` }]),
    { text: `  [${digit ?? `:${id}`}]`, tone: "dim" },
  ];
}

/** Returns which nodes the numbers cover. The overview states it for each of its parts instead. */
function coverageSpans(state: State, { needs, body }: View, status: ViewStatus): readonly Span[] {
  if (insteadOfRows(status) !== undefined) return [];
  const [need] = body.kind === "table" ? needs(state.place.subject) : [];
  const coverage = need === undefined ? undefined : coverageText(contextOf(state).data, need);
  return coverage === undefined ? [] : [titlePart(escapeControls(coverage))];
}

function rowSpans(state: State, views: readonly View[], status: ViewStatus): readonly Span[] {
  const instead = insteadOfRows(status);
  if (instead !== undefined) return [titlePart(instead)];
  const listing = listingOf(state, views);
  const { filter, isNarrowed, marks, isWide } = tableStateOf(state);
  if (listing === undefined) return filterSpans(state, views, filter);
  return [
    titlePart(plural(listing.total, "row")),
    ...(marks.size > 0 ? [titlePart(`${count(marks.size)} marked`)] : []),
    titlePart(`sort: ${listing.sort.column} ${listing.sort.isDescending ? "desc" : "asc"}`),
    ...(isNarrowed ? [titlePart("attention only")] : []),
    ...filterSpans(state, views, filter),
    ...(isWide ? [titlePart("wide")] : []),
  ];
}

/** Returns a word that says why there are no rows to count; `undefined` if there are. */
function insteadOfRows(status: ViewStatus): string | undefined {
  switch (status.kind) {
    case "loading":
      return "loading";
    case "forbidden":
      return "forbidden";
    case "failed":
    case "offline":
    case "signed_out":
      return status.hasData ? undefined : "not read";
    default:
      return undefined;
  }
}

function filterSpans(state: State, views: readonly View[], filter: string): readonly Span[] {
  const listing = state.page === undefined ? listingOf(state, views) : undefined;
  const { isNarrowed } = tableStateOf(state);
  if (filter === "" && !(isNarrowed && listing !== undefined)) return [];
  const text = listing === undefined ? textOf(state, views) : undefined;
  const found = listing === undefined ? undefined : `${count(listing.order.length)} of ${count(listing.total)}`;
  if ((listing ?? text)?.filterError !== undefined) return [titlePart(`filter: ${filter} NOT APPLIED`)];
  const message = filter === "" ? "" : `filter: ${filter} `;
  return [
    titlePart(
      `${message}${found ?? (text === undefined ? "" : `${plural(text.lines.length, "line")} of ${count(text.total)}`)}`,
    ),
  ];
}

/** Returns all tabs, and as a shorter alternative only the next one, since half a name is useless. */
function tabsOf({ group, id }: View, views: readonly View[]): readonly Line[] {
  const members = group === undefined ? [] : views.filter((view) => view.group === group);
  const next = members[(members.findIndex((view) => view.id === id) + 1) % members.length];
  if (next === undefined || members.length < 2) return [];
  const tab: Span = { text: "   Tab: ", tone: "dim" };
  const all = members.flatMap((view, at): Span[] => [
    ...(at === 0 ? [] : [{ text: " | ", tone: "dim" as const }]),
    view.id === id ? { text: `(${view.title})`, tone: "strong" } : { text: view.title, tone: "dim" },
  ]);
  return [
    [tab, ...all],
    [tab, { text: next.title, tone: "dim" }],
  ];
}

const titlePart = (text: string): Span => ({ text: `   ${text}` });

/** Returns the visible range, `12-40 of 10,000`; `undefined` if everything is visible. */
export function positionText(offset: number, shown: number, total: number): string | undefined {
  if (total === 0 || shown >= total) return undefined;
  return `${count(offset + 1)}-${count(Math.min(total, offset + shown))} of ${count(total)}`;
}

/** Draws the views that digits open at the left, and the position in a list at the right. */
export function drawFoot(state: State, views: readonly View[], message: readonly (string | undefined)[]): Line {
  const { columns } = state.size;
  const known = message.filter((text) => text !== undefined).join("   ");
  // Corners and blanks of the border take six cells.
  const room = columns - 6 - (known === "" ? 0 : cellsOf(known) + 3);
  return borderLine("bottom", columns, {
    left: viewsBar(state, views, room),
    right: known === "" ? [] : [{ text: known, tone: "dim" }],
  });
}
