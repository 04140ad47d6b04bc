/** Column chart of several lines: stacked bands, one cell per value. Height is measured in eighths of a cell. */

import type { Line, Span, Tone } from "../model/text.ts";

interface Band {
  readonly tone: Tone;
  /** Values of 0 or above; null is a gap. */
  readonly values: readonly (number | null)[];
}

interface ColumnsChart {
  readonly rows: number;
  /** Value of a full column. */
  readonly maxValue: number;
  /** Column under the cursor. */
  readonly cursor: number | undefined;
}

const EIGHTHS = [..." ▁▂▃▄▅▆▇█"];
/** Mark of a measured zero. */
const NOTHING = "·";

/**
 * Draws the chart; the first band is the lowest. A cell has the tone of the first band in it, so that a few failures among many
 * requests stay visible.
 */
export function columnsChart(bands: readonly Band[], { rows, maxValue, cursor }: ColumnsChart): readonly Line[] {
  const width = Math.max(0, ...bands.map(({ values }) => values.length));
  const columns = Array.from({ length: width }, (_, at) => columnOf(bands, at, rows, maxValue));
  return Array.from({ length: rows }, (_, line) => {
    const row = rows - 1 - line;
    return joinCells(
      columns.map((column, at) => (at === cursor ? underCursor(cellOf(column, row)) : cellOf(column, row))),
    );
  });
}

/** Draws the cursor as a vertical line, inverted where there is a column. */
const underCursor = (cell: Span): Span =>
  cell.text === " " || cell.text === NOTHING ? { text: "│", tone: "strong" } : { ...cell, isInverse: true };

/** Upper end of each band, in eighths from the bottom; `undefined` is a gap. */
type Column = readonly { readonly tone: Tone; readonly to: number }[] | undefined;

function columnOf(bands: readonly Band[], at: number, rows: number, most: number): Column {
  if (bands.every(({ values }) => (values[at] ?? null) === null)) return undefined;
  let sum = 0;
  return bands.map(({ tone, values }) => {
    const value = values[at] ?? 0;
    sum += value;
    // The topmost eighth stays empty, so that charts below each other do not touch.
    const to = most <= 0 ? 0 : (Math.min(sum, most) / most) * (rows * 8 - 1);
    // Any value above zero is visible.
    return { tone, to: sum > 0 ? Math.max(1, Math.round(to)) : 0 };
  });
}

function cellOf(column: Column, row: number): Span {
  if (column === undefined) return { text: " " };
  const top = column.at(-1)?.to ?? 0;
  const from = row * 8;
  if (top <= from) return row === 0 ? { text: NOTHING, tone: "dim" } : { text: " " };
  const band = column.find(({ to }) => to > from);
  return { text: EIGHTHS[Math.min(8, top - from)] ?? " ", tone: band?.tone ?? "plain" };
}

function joinCells(cells: readonly Span[]): Line {
  const spans: Span[] = [];
  for (const cell of cells) {
    const last = spans.at(-1);
    const isSame = last !== undefined && last.tone === cell.tone && last.isInverse === cell.isInverse;
    if (isSame) spans[spans.length - 1] = { ...last, text: last.text + cell.text };
    else spans.push(cell);
  }
  return spans;
}

/**
 * Combines `factor` values per cell, the last cell complete, for a chart that is narrower than its data. A cell takes the
 * values whose sum is largest, so that no peak is lost and the scale stays that of the measured values.
 */
export function narrowBands(bands: readonly Band[], factor: number): readonly Band[] {
  if (factor <= 1) return bands;
  const length = Math.max(0, ...bands.map(({ values }) => values.length));
  const cells = Math.ceil(length / factor);
  const chosen = Array.from({ length: cells }, (_, cell) => {
    const end = length - (cells - 1 - cell) * factor;
    return largest(bands, Math.max(0, end - factor), end);
  });
  return bands.map(({ tone, values }) => ({ tone, values: chosen.map((at) => values[at] ?? null) }));
}

/** Returns the index of the largest sum: the newest among equals, a known value before an unknown one. */
function largest(bands: readonly Band[], from: number, end: number): number {
  let found = from;
  let most = Number.NEGATIVE_INFINITY;
  for (let at = from; at < end; at += 1) {
    const known = bands.flatMap(({ values }) => values[at] ?? []);
    const sum = known.length === 0 ? Number.NEGATIVE_INFINITY : known.reduce((left, right) => left + right, 0);
    if (sum < most) continue;
    most = sum;
    found = at;
  }
  return found;
}
