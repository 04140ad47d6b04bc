/**
 * Formats rows as a text table: a line with the column names, then one line per row, with two spaces between columns.
 * NULL is an empty cell, and numbers are right-aligned. A terminal line that is too long is shortened by truncating the
 * widest text columns. Numbers are never truncated, since that would change their value. Whatever still does not fit is
 * cut off at the edge. Output to a pipe is not shortened.
 */

import { cellsOf, cutToCells, escapeControls } from "../base/index.ts";

export interface TextColumn {
  readonly name: string;
  readonly isNumeric: boolean;
}

const GAP = "  ";
/** Minimum width of a text column, in cells. */
const MIN_CELLS = 8;

interface Cell {
  readonly text: string;
  readonly cells: number;
}

/** Yields the lines, each with its line end. `width`: width of the terminal in cells; `undefined` if unlimited. */
export function* tableLines(
  columns: readonly TextColumn[],
  rows: readonly (readonly unknown[])[],
  width?: number,
): Generator<string> {
  const table = [columns.map(({ name }) => cell(name)), ...rows.map((row) => columns.map((_, at) => cell(row[at])))];
  const natural = columns.map((_, at) => table.reduce((max, row) => Math.max(max, row[at]?.cells ?? 0), 0));
  const widths = width === undefined ? natural : fitWidths(columns, natural, width);
  for (const row of table) {
    const text = lineOf(row, columns, widths);
    yield `${width === undefined ? text : cutToCells(text, width)}\n`;
  }
}

function cell(value: unknown): Cell {
  const text = escapeControls(textOf(value));
  return { text, cells: cellsOf(text) };
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function lineOf(row: readonly Cell[], columns: readonly TextColumn[], widths: readonly number[]): string {
  const last = row.length - 1;
  const texts = row.map((whole, at) => {
    const width = widths[at] ?? 0;
    const { text, cells } = whole.cells > width ? cell(cutToCells(whole.text, width)) : whole;
    const blanks = " ".repeat(width - cells);
    if (columns[at]?.isNumeric) return blanks + text;
    return at === last ? text : text + blanks;
  });
  return texts.join(GAP).trimEnd();
}

/** Returns the widths of the columns. Text columns share one maximum width, the largest with which the line fits. */
function fitWidths(columns: readonly TextColumn[], natural: readonly number[], width: number): readonly number[] {
  const bounded = (bound: number) =>
    natural.map((naturalWidth, at) =>
      columns[at]?.isNumeric ? naturalWidth : Math.min(naturalWidth, Math.max(bound, MIN_CELLS)),
    );
  const total = (widths: readonly number[]) =>
    widths.reduce((sum, naturalWidth) => sum + naturalWidth, 0) + GAP.length * Math.max(0, widths.length - 1);
  let bound = Math.max(MIN_CELLS, ...natural);
  while (bound > MIN_CELLS && total(bounded(bound)) > width) bound -= 1;
  return bounded(bound);
}
