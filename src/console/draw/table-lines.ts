/**
 * Visible rows of a table, and its heads. Cells are made only for those rows. The row under the cursor is marked and inverted;
 * marked rows have a star at both ends, of which the cursor hides only one.
 */

import { cellsOf } from "../../base/index.ts";
import { bodyRow, fill } from "../format/box-frame.ts";
import { cleanSpan, fitSpan, withTone } from "../format/fit-line.ts";
import type { TableState } from "../model/state.ts";
import type { Line, Span } from "../model/text.ts";
import type { Listing } from "../store/listing.ts";
import { fitColumns, GAP, type Placed, scrollColumns } from "./column-layout.ts";

interface TableDrawing {
  /** Heads and rows with side borders. */
  readonly lines: readonly Line[];
  /** Range of scrolled columns for the lower border; `undefined` if none is scrolled. */
  readonly scrolled: string | undefined;
}

export interface TableSize {
  readonly columns: number;
  readonly rows: number;
}

export function drawTable(
  { table, order, cursor }: Listing,
  state: TableState,
  { columns, rows }: TableSize,
  { now, isOld }: { readonly now: number; readonly isOld: boolean },
): TableDrawing {
  const offset = Math.max(0, Math.min(state.offset, order.length - 1));
  const shown = order.slice(offset, offset + rows);
  const cells = shown.map((at) => table.columns.map((_, column) => cleanSpan(table.cell(at, column, now))));
  const contents = table.columns.map((_, column) =>
    cells.reduce((most, row) => Math.max(most, cellsOf(row[column]?.text ?? "")), 0),
  );
  const room = Math.max(1, columns - 4);
  const { placed, scrolled } = placeColumns(table.columns, contents, room, state);
  const heads = rowOf(placed, (_, column) => ({ text: column.head, tone: "strong" }));
  const lines = cells.map((row, at) => {
    const id = table.idOf(shown[at] ?? 0);
    const isMarked = state.marks.has(id);
    const isUnderCursor = offset + at === cursor;
    const line = rowOf(placed, (column) => row[column] ?? { text: "" });
    return bodyRow(isOld ? withTone(line, "dim") : line, columns, {
      before: isUnderCursor ? ">" : isMarked ? "*" : " ",
      after: isMarked ? "*" : " ",
      isInverse: isUnderCursor,
      isOld,
    });
  });
  const blank = bodyRow([], columns);
  return {
    lines: [bodyRow(heads, columns), ...fill(lines, rows).map((line) => (line.length === 0 ? blank : line))],
    scrolled,
  };
}

/** Returns the columns on the screen with their widths, as `drawTable` places them. */
export function placedColumns(
  { table, order }: Listing,
  state: TableState,
  { columns, rows }: TableSize,
  now: number,
): readonly Placed[] {
  const shown = order.slice(state.offset, state.offset + rows);
  const contents = table.columns.map((_, column) =>
    shown.reduce((most, at) => Math.max(most, cellsOf(cleanSpan(table.cell(at, column, now)).text)), 0),
  );
  return placeColumns(table.columns, contents, Math.max(1, columns - 4), state).placed;
}

function placeColumns(
  heads: Listing["table"]["columns"],
  contents: readonly number[],
  room: number,
  { isWide, scrolled }: TableState,
): { readonly placed: readonly Placed[]; readonly scrolled: string | undefined } {
  if (!isWide) return { placed: fitColumns(heads, contents, room), scrolled: undefined };
  const { placed, from, to } = scrollColumns(heads, contents, room, scrolled);
  const others = heads.length - 1;
  return {
    placed,
    scrolled: to - from + 1 < others ? `columns ${from}-${Math.max(from, to)} of ${others}` : undefined,
  };
}

function rowOf(placed: readonly Placed[], cell: (column: number, head: Placed["head"]) => Span): Line {
  const gap: Span = { text: " ".repeat(GAP) };
  return placed.flatMap(({ at, head, cells }, index) => {
    const fitted = fitSpan(cell(at, head), cells, { align: head.align, cut: head.cut });
    return index === 0 ? [fitted] : [gap, fitted];
  });
}
