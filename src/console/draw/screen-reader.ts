/**
 * State for a screen reader: the same content as the screen, in order and in words, without borders and columns, each part with
 * its role. Values that change by themselves (clock, ages, indexes) are left out, since each change is read aloud. Source:
 * operator console reference, A6.
 */

import { gapSentence } from "../format/missing-nodes.ts";
import type { State } from "../model/state.ts";
import { textOfLine } from "../model/text.ts";
import type { TableBody, View } from "../model/view.ts";
import { searchEntries } from "../store/help-entries.ts";
import { bodyCells, bodyRows, isTooSmall, MIN_SIZE, tableRegions } from "../store/layout.ts";
import {
  contextOf,
  freshnessOf,
  gapsOf,
  isHelpOpen,
  listingOf,
  statusOf,
  tableStateOf,
  textOf,
  viewOf,
} from "../store/selectors.ts";
import { shownCandidates } from "./candidate-lines.ts";
import type { DrawWorkbench } from "./draw-screen.ts";
import { positionText } from "./frame-title.ts";
import { drawHealth } from "./header.ts";
import { hintsOf } from "./hints.ts";
import { renderDialog } from "./screen-reader-dialog.ts";
import { plain, type ReaderNode, type ReaderTree, textNode } from "./screen-reader-node.ts";
import { drawStatus, noticeOf } from "./status-lines.ts";

export type { ReaderNode, ReaderTree } from "./screen-reader-node.ts";

export function renderTree(state: State, views: readonly View[], drawWorkbench: DrawWorkbench): ReaderTree {
  const { size } = state;
  const where = textNode(plain(locationText(state, views)));
  const health = textNode(plain(textOfLine(drawHealth(state))));
  if (isTooSmall(size)) {
    return [textNode(`need ${MIN_SIZE.columns}x${MIN_SIZE.rows}, have ${size.columns}x${size.rows}`), health];
  }
  return [
    where,
    health,
    ...renderBody(state, views, drawWorkbench),
    ...renderHints(state, views),
    ...renderFlash(state, views),
  ];
}

function locationText(state: State, views: readonly View[]): string {
  const { data } = contextOf(state);
  const status = data.get({ id: "get_status" })?.value;
  const caller = data.get({ id: "get_whoami" })?.value;
  const fresh = freshnessOf(state, views).word.replace(/ ?\d+\w*/g, "");
  return [
    `gateway ${state.link.endpoint.name}`,
    ...(caller === undefined ? [] : [`as ${caller.subject}`]),
    ...(status === undefined ? [] : [`node ${status.node} ${status.role}${status.ready ? "" : " NOT READY"}`]),
    fresh,
  ].join(", ");
}

function renderBody(state: State, views: readonly View[], drawWorkbench: DrawWorkbench): ReaderTree {
  if (state.dialog !== undefined) return renderDialog(state, state.dialog);
  if (isHelpOpen(state)) return renderHelp(state, views);
  if (state.page !== undefined) return [textNode(plain(state.page.title)), ...renderText(state, views)];
  const view = viewOf(state, views);
  const status = statusOf(state, views);
  const instead = drawStatus(status, state);
  const title = textNode(
    plain([view.title, ...(state.place.subject === undefined ? [] : [state.place.subject])].join(" ")),
  );
  const notice = noticeOf(status, state);
  const gaps = gapsOf(state, views);
  const missing = gaps === undefined ? [] : [textNode(plain(gapSentence(gaps)))];
  const notices = [...(notice === undefined ? [] : [textNode(plain(textOfLine(notice)))]), ...missing];
  if (instead !== undefined) {
    const isBusy = status.kind === "loading";
    return [
      title,
      ...missing,
      ...instead.map((line) => ({ ...textNode(plain(textOfLine(line))), ...(isBusy && { state: { busy: true } }) })),
    ];
  }
  switch (view.body.kind) {
    case "table":
      return [title, ...notices, ...renderTable(state, views, view, view.body)];
    case "page":
      return [title, ...notices, ...renderText(state, views)];
    case "charts": {
      const texts = view.body.texts(contextOf(state), tableStateOf(state).moment);
      return [
        title,
        ...notices,
        { role: "list", text: "", children: texts.map((text) => ({ role: "listitem", text: plain(text) })) },
      ];
    }
    case "workbench":
      return [title, ...notices, ...renderWorkbench(state, drawWorkbench)];
    default:
      return view.body satisfies never;
  }
}

function renderTable(state: State, views: readonly View[], view: View, body: TableBody): ReaderTree {
  const listing = listingOf(state, views);
  if (listing === undefined) return [];
  const { table, order, cursor, total, sort } = listing;
  const { marks, offset, filter } = tableStateOf(state);
  const context = contextOf(state);
  const rows = tableRegions(state.size, view, state.preferences.isSplit).rows;
  const shown = order.slice(offset, offset + rows);
  const items = shown.map((at, index): ReaderNode => {
    const cells = table.columns.map(
      ({ head }, column) => [head, table.cell(at, column, context.now).text.trim()] as const,
    );
    const texts = cells.filter(([, text]) => text !== "" && text !== "-").map(([head, text]) => `${head}: ${text}`);
    return {
      role: "listitem",
      text: plain(texts.join(", ")),
      state: { selected: offset + index === cursor, checked: marks.has(table.idOf(at)) },
    };
  });
  const under = order[cursor];
  const pane = under === undefined ? [] : (body.pane?.(table.idOf(under), context) ?? []);
  const caption = [
    positionText(offset, shown.length, order.length) ?? `${total} rows`,
    `sort ${sort.column} ${sort.isDescending ? "descending" : "ascending"}`,
    ...(filter === "" ? [] : [`filter ${filter}, ${order.length} of ${total}`]),
  ].join(", ");
  return [
    textNode(caption),
    { role: "table", text: "", children: items },
    ...pane.map((line) => textNode(plain(textOfLine(line)))).filter(({ text }) => text !== ""),
  ];
}

function renderText(state: State, views: readonly View[]): ReaderTree {
  const text = textOf(state, views);
  if (text === undefined) return [{ ...textNode("loading"), state: { busy: true } }];
  const shown = text.lines.slice(text.offset, text.offset + bodyRows(state.size));
  const position = positionText(text.offset, shown.length, text.lines.length);
  return [
    ...(position === undefined ? [] : [textNode(`lines ${position}`)]),
    ...shown.map((line) => textNode(plain(textOfLine(line)))),
  ];
}

function renderWorkbench(state: State, drawWorkbench: DrawWorkbench): ReaderTree {
  const { workbench, size } = state;
  const { data, now } = contextOf(state);
  const tables = data.get({ id: "list_query_tables" })?.value ?? [];
  const lines = drawWorkbench(workbench, tables, {
    columns: bodyCells(size),
    rows: bodyRows(size),
    isAscii: true,
    now,
  });
  return [
    {
      role: "textbox",
      text: `statement: ${plain(workbench.edit.text)}`,
      state: { multiline: true, selected: workbench.isEditing },
    },
    ...lines.map((line) => textNode(plain(textOfLine(line)))).filter(({ text }) => text !== ""),
  ];
}

function renderHelp(state: State, views: readonly View[]): ReaderTree {
  const { sections, chosen } = searchEntries(state, views);
  const shown = sections.flatMap(({ entries }) => entries);
  return sections.map(
    ({ head, entries }): ReaderNode => ({
      role: "list",
      text: head,
      children: entries.map((entry) => ({
        role: "listitem",
        text: `${entry.key}: ${entry.help}${entry.disabledReason === undefined ? "" : ` (unavailable: ${entry.disabledReason})`}`,
        state: { disabled: entry.disabledReason !== undefined, selected: entry === shown[chosen] },
      })),
    }),
  );
}

function renderHints(state: State, views: readonly View[]): ReaderTree {
  const { own, always } = hintsOf(state, views);
  return [
    {
      role: "list",
      text: "keys",
      children: [...own, ...always].map(({ key, label }) => ({ role: "listitem", text: `${key} ${label}` })),
    },
  ];
}

function renderFlash(state: State, views: readonly View[]): ReaderTree {
  const { prompt, flash } = state;
  if (prompt !== undefined) {
    return [
      { role: "textbox", text: plain(`${prompt.label} ${prompt.edit.text}`), state: { selected: true } },
      ...renderCandidates(state, views),
    ];
  }
  return flash === undefined ? [] : [textNode(plain(flash.message))];
}

function renderCandidates(state: State, views: readonly View[]): ReaderTree {
  const candidates = shownCandidates(state, views);
  if (candidates === undefined) return [];
  const { head, shown, at } = candidates;
  const children = shown.map(
    ({ text, about }, index): ReaderNode => ({
      role: "listitem",
      text: plain(about === "" ? text : `${text}: ${about}`),
      state: { selected: index === at },
    }),
  );
  return [{ role: "list", text: head, children }];
}
