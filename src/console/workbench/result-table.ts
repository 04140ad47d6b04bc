/**
 * Result as lines: the columns that fit, from the first one not scrolled out, as wide as their visible content. Numbers are
 * right-aligned and never shortened, since part of a number is another number.
 */

import { cellText, type QueryResult } from "../../admin-api/index.ts";
import { cellsOf, escapeControls } from "../../base/index.ts";
import { cutLine, fitSpan } from "../format/fit-line.ts";
import type { Line, Span } from "../model/text.ts";
import { jsonLineOf } from "./export-result.ts";

const GAP = 2;
/** Number of cells by which one step to the right scrolls a line of JSON. */
export const JSON_SHIFT = 20;
/** Minimum width to which a text column is reduced for its neighbors. */
const MIN_CELLS = 12;
/** Maximum length of a cell that is examined, in UTF-16 units: wider than any screen. */
const MAX_CELL_LENGTH = 2_048;

interface Window {
  /** Index of the first visible row, and of the first visible column. */
  readonly offset: number;
  readonly column: number;
  readonly rows: number;
  readonly cells: number;
  readonly isAscii: boolean;
}

export interface ResultTable {
  readonly head: Line;
  readonly rows: readonly Line[];
  /** Index after the last visible column. */
  readonly end: number;
}

interface Placed {
  readonly at: number;
  readonly cells: number;
  readonly isNumber: boolean;
}

/** Returns the span of a cell. NULL has a mark that distinguishes it from the text `NULL` without color. */
function cellSpan(value: unknown, isAscii: boolean): Span {
  if (value === null || value === undefined) return { text: isAscii ? "NULL" : "∅", tone: "dim" };
  return { text: escapeControls(cellText(value).slice(0, MAX_CELL_LENGTH)) };
}

export function resultTable({ columns, rows }: QueryResult, window: Window): ResultTable {
  const shown = rows.slice(window.offset, window.offset + window.rows);
  const cells = shown.map((row) => columns.map((_, at) => cellSpan(row[at], window.isAscii)));
  const heads = columns.map(
    ({ name }): Span => ({ text: escapeControls(name.slice(0, MAX_CELL_LENGTH)), tone: "strong" }),
  );
  const natural = columns.map(({ type }, at) => ({
    at,
    isNumber: type === "integer" || type === "real",
    cells: Math.max(1, ...[heads, ...cells].map((row) => cellsOf(row[at]?.text ?? ""))),
  }));
  const placed = place(natural.slice(window.column), Math.max(1, window.cells));
  return {
    head: lineOf(heads, placed),
    rows: cells.map((row) => lineOf(row, placed)),
    end: (placed.at(-1)?.at ?? -1) + 1,
  };
}

/** Places all columns if they fit with narrower text columns, otherwise as many as fit; always the first one. */
function place(natural: readonly Placed[], room: number): readonly Placed[] {
  const widest = Math.max(MIN_CELLS, ...natural.map(({ cells }) => cells));
  const bounded = (bound: number) =>
    natural.map((column) => (column.isNumber ? column : { ...column, cells: Math.min(column.cells, bound) }));
  // Finds the largest width limit with which the line fits, if there is one.
  let [low, high] = [MIN_CELLS, widest];
  if (widthOf(bounded(low)) <= room) {
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (widthOf(bounded(middle)) <= room) low = middle;
      else high = middle - 1;
    }
    return bounded(low);
  }
  const placed: Placed[] = [];
  let left = room;
  for (const column of bounded(Math.max(MIN_CELLS, Math.floor(room / 2)))) {
    const isFirst = placed.length === 0;
    const most = left - (isFirst ? 0 : GAP);
    if (column.cells > most) {
      const isWorthIt = isFirst || (!column.isNumber && most >= MIN_CELLS);
      if (isWorthIt) placed.push({ ...column, cells: Math.max(1, most) });
      break;
    }
    placed.push(column);
    left = most - column.cells;
  }
  return placed;
}

const widthOf = (columns: readonly Placed[]): number =>
  columns.reduce((sum, { cells }) => sum + cells, 0) + GAP * Math.max(0, columns.length - 1);

function lineOf(row: readonly Span[], placed: readonly Placed[]): Line {
  const gap: Span = { text: " ".repeat(GAP) };
  return placed.flatMap(({ at, cells, isNumber }, index) => {
    const fitted = fitSpan(row[at] ?? { text: "" }, cells, { align: isNumber ? "right" : "left", cut: "end" });
    return index === 0 ? [fitted] : [gap, fitted];
  });
}

/** Returns the lines of the export document, one row per line. */
export function resultLines(result: QueryResult, { offset, column, rows, cells }: Window): readonly Line[] {
  const count = Math.max(0, Math.min(rows, result.rows.length + 2 - offset));
  return Array.from({ length: count }, (_, at) => {
    const from = column * JSON_SHIFT;
    const text = jsonLineOf(result, offset + at).slice(from, from + MAX_CELL_LENGTH + JSON_SHIFT);
    return cutLine([{ text: escapeControls(text) }], cells);
  });
}
