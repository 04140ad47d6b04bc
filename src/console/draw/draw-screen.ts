/**
 * Whole screen of a state: exactly `rows - 1` lines, none wider than the terminal, at any size. Pure, so that tests compare
 * frames as values. Source: operator console reference, A3 (1) and B1 to B8.
 */

import type { QueryTables } from "../../admin-api/index.ts";
import { inAscii } from "../format/ascii.ts";
import { bodyRow, fill, ruleLine } from "../format/box-frame.ts";
import { cellsOfLine, cutLine, fitLine, withTone, wrapHanging, wrapLines } from "../format/fit-line.ts";
import { linesOfFields } from "../format/record-lines.ts";
import type { State, WorkbenchState } from "../model/state.ts";
import { BLANK, type Line } from "../model/text.ts";
import type { TableBody, View } from "../model/view.ts";
import { helpOf } from "../store/help.ts";
import { bodyCells, bodyRows, isRoomy, isTooSmall, MIN_SIZE, screenRows, tableRegions } from "../store/layout.ts";
import {
  contextOf,
  cursorRowOf,
  isHelpOpen,
  type Listing,
  listingOf,
  statusOf,
  tableStateOf,
  textOf,
  type ViewStatus,
  viewOf,
} from "../store/selectors.ts";
import { drawCandidates } from "./candidate-lines.ts";
import { centered, drawDialog } from "./dialog-box.ts";
import { drawFoot, drawTitle, positionText } from "./frame-title.ts";
import { drawHeader, drawHealth } from "./header.ts";
import { drawFlash, drawHints } from "./hints.ts";
import { drawStatus, isOld } from "./status-lines.ts";
import { drawTable } from "./table-lines.ts";

export type DrawWorkbench = (
  workbench: WorkbenchState,
  tables: QueryTables["items"],
  size: { readonly columns: number; readonly rows: number; readonly isAscii: boolean; readonly now: number },
) => readonly Line[];

export function drawScreen(state: State, views: readonly View[], drawWorkbench: DrawWorkbench): readonly Line[] {
  const { size, isAscii } = state;
  const lines = isTooSmall(size) ? drawTooSmall(state) : drawAll(state, views, drawWorkbench);
  const fitted = fill(lines, screenRows(size)).map((line) => cutLine(line, size.columns));
  return isAscii ? inAscii(fitted) : fitted;
}

function drawTooSmall(state: State): readonly Line[] {
  const { columns, rows } = state.size;
  const need = `need ${MIN_SIZE.columns}x${MIN_SIZE.rows}, have ${columns}x${rows}`;
  return [[{ text: need, tone: "warn" }], drawHealth(state)];
}

function drawAll(state: State, views: readonly View[], drawWorkbench: DrawWorkbench): readonly Line[] {
  const [identity, health] = drawHeader(state, views);
  const middle = drawMiddle(state, views, drawWorkbench);
  const candidates = drawCandidates(state, views);
  return [
    identity,
    health,
    ...(candidates.length === 0
      ? middle
      : [...middle.slice(0, -candidates.length - 1), ...candidates, ...middle.slice(-1)]),
    drawHints(state, views),
    drawFlash(state, views),
  ];
}

/** Draws from the title to the lower border: `bodyRows` and two more lines. */
function drawMiddle(state: State, views: readonly View[], drawWorkbench: DrawWorkbench): readonly Line[] {
  const { columns } = state.size;
  const status = statusOf(state, views);
  const rows = bodyRows(state.size);
  const title = drawTitle(state, views, status);
  if (state.dialog !== undefined) {
    if (!isRoomy(state.size))
      return fill(drawDialog(state, state.dialog, { columns, rows: rows + 2, isWhole: true }), rows + 2);
    const inner = bodyCells(state.size);
    const box = drawDialog(state, state.dialog, { columns: inner, rows, isWhole: false });
    const [first = BLANK] = box;
    return [
      title,
      ...inSides(centered(box, cellsOfLine(first), { columns: inner, rows }), columns),
      drawFoot(state, views, []),
    ];
  }
  const { lines, position } = drawBody(state, views, drawWorkbench, status);
  return [
    title,
    ...fill(lines, rows).map((line) => (line.length === 0 ? bodyRow(BLANK, columns) : line)),
    drawFoot(state, views, position),
  ];
}

interface Body {
  /** Lines with side borders. */
  readonly lines: readonly Line[];
  readonly position: readonly (string | undefined)[];
}

function drawBody(state: State, views: readonly View[], drawWorkbench: DrawWorkbench, status: ViewStatus): Body {
  const { size } = state;
  const { columns } = size;
  if (isHelpOpen(state)) {
    const { lines, offset } = helpOf(state, views);
    const shown = lines.slice(offset, offset + bodyRows(size));
    return { lines: inSides(shown, columns), position: [positionText(offset, shown.length, lines.length)] };
  }
  if (state.page !== undefined) return drawText(state, views, false);
  const view = viewOf(state, views);
  const instead = drawStatus(status, state);
  if (view.body.kind === "table")
    return drawTableBody(state, view, view.body, listingOf(state, views), status, instead);
  if (instead !== undefined)
    return {
      lines: inSides(wrapLines([BLANK, ...instead], bodyCells(size)), columns),
      position: [],
    };
  if (view.body.kind === "page") return drawText(state, views, isOld(status));
  const context = contextOf(state);
  if (view.body.kind === "charts") {
    const charts = view.body.lines(
      context,
      { columns: bodyCells(size), rows: bodyRows(size) },
      tableStateOf(state).moment,
    );
    return {
      lines: inSides(isOld(status) ? charts.map((line) => withTone(line, "dim")) : charts, columns),
      position: [],
    };
  }
  const { data, now, isAscii } = context;
  const tables = data.get({ id: "list_query_tables" })?.value ?? [];
  const lines = drawWorkbench(state.workbench, tables, {
    columns: bodyCells(size),
    rows: bodyRows(size),
    isAscii,
    now,
  });
  return { lines: inSides(lines, columns), position: [] };
}

function drawText(state: State, views: readonly View[], isDimmed: boolean): Body {
  const text = textOf(state, views);
  if (text === undefined) return { lines: [], position: [] };
  const rows = bodyRows(state.size);
  const shown = text.lines.slice(text.offset, text.offset + rows);
  return {
    lines: inSides(isDimmed ? shown.map((line) => withTone(line, "dim")) : shown, state.size.columns),
    position: [positionText(text.offset, shown.length, text.lines.length)],
  };
}

function drawTableBody(
  state: State,
  view: View,
  body: TableBody,
  listing: Listing | undefined,
  status: ViewStatus,
  instead: readonly Line[] | undefined,
): Body {
  const { columns } = state.size;
  const cells = bodyCells(state.size);
  const context = contextOf(state);
  const regions = tableRegions(state.size, view, state.preferences.isSplit);
  const isDimmed = isOld(status);
  const dimmed = (lines: readonly Line[]) => (isDimmed ? lines.map((line) => withTone(line, "dim")) : lines);
  const above =
    regions.above === 0
      ? []
      : fill(
          dimmed(body.above?.(context, { columns: cells, rows: regions.above }, cursorRowOf(listing)) ?? []),
          regions.above,
        );
  const rows = regions.head + regions.rows;
  if (instead !== undefined || listing === undefined) {
    const text = wrapLines([BLANK, ...(instead ?? [])], cells);
    return { lines: inSides([...above, ...text], columns), position: [] };
  }
  const tableState = tableStateOf(state);
  const width = columns - regions.side;
  const table = drawTable(
    listing,
    tableState,
    { columns: width, rows: regions.rows },
    { now: context.now, isOld: isDimmed },
  );
  const side = regions.side === 0 ? [] : drawSide(body, listing, context, { columns: regions.side, rows });
  const pane = regions.pane === 0 ? [] : drawPane(body, listing, context, cells, regions.pane);
  const shown = Math.min(regions.rows, listing.order.length - tableState.offset);
  return {
    lines: [
      ...inSides(above, columns),
      ...fill(table.lines, rows).map((line, at) => [...line, ...(dimmed(side)[at] ?? BLANK)]),
      ...inSides(dimmed(pane), columns),
    ],
    position: [table.scrolled, positionText(tableState.offset, shown, listing.order.length)],
  };
}

/** Draws a rule with the name of the row under the cursor, and the view's detail of it. */
function drawPane(
  body: TableBody,
  listing: Listing,
  context: ReturnType<typeof contextOf>,
  cells: number,
  rows: number,
): readonly Line[] {
  const row = cursorRowOf(listing);
  const at = listing.order[listing.cursor];
  if (row === undefined || at === undefined) return fill([ruleLine(BLANK, cells)], rows);
  const detail = body.pane?.(row, context) ?? [];
  const lines = body.paneRows === undefined ? detail : detail.flatMap((line) => wrapHanging(line, cells));
  return fill([ruleLine([{ text: listing.table.nameOf(at), tone: "strong" }], cells), ...lines], rows);
}

/** Draws the detail of the row under the cursor: the description of `d`, as much as fits. */
function drawSide(
  body: TableBody,
  listing: Listing,
  context: ReturnType<typeof contextOf>,
  { columns, rows }: { readonly columns: number; readonly rows: number },
): readonly Line[] {
  // One blank before the text, a blank and the border after it; the left border belongs to the table.
  const cells = columns - 3;
  const row = cursorRowOf(listing);
  const at = listing.order[listing.cursor];
  const { table } = listing;
  const detail =
    row === undefined || at === undefined
      ? []
      : [
          ruleLine([{ text: table.nameOf(at), tone: "strong" }], cells),
          ...(
            body.describe?.(row, context) ?? [...(body.pane?.(row, context) ?? []), ...linesOfFields(table.jsonOf(at))]
          ).flatMap((line) => wrapHanging(line, cells)),
        ];
  const shown =
    detail.length > rows
      ? [...detail.slice(0, rows - 1), [{ text: "d shows the rest", tone: "dim" as const }]]
      : detail;
  return fill(shown, rows).map((line) => [{ text: " " }, ...fitLine(line, cells), { text: " │" }]);
}

const inSides = (lines: readonly Line[], columns: number): readonly Line[] =>
  lines.map((line) => bodyRow(line, columns));
