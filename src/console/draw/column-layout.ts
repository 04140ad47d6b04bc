/**
 * Choice and width of a table's columns. Columns are dropped by priority until the rest fits; the remaining width goes to
 * flexible columns. A right-aligned column is never narrower than its content, since a shortened number is wrong. No text is
 * shortened while another column has unused width, and a column with `wanted` cells takes them from columns with a higher
 * priority number.
 */

import { cellsOf } from "../../base/index.ts";
import type { ColumnHead } from "../model/table.ts";

export interface Placed {
  /** Index into the table's columns. */
  readonly at: number;
  readonly head: ColumnHead;
  readonly cells: number;
}

/** Blanks between columns. */
export const GAP = 2;

/**
 * Chooses the columns that fit, and their widths. `contents` is the width of the widest text of each column on the screen, in
 * cells.
 */
export function fitColumns(
  heads: readonly ColumnHead[],
  contents: readonly number[],
  cells: number,
): readonly Placed[] {
  const kept = heads.map((head, at) => ({ at, head, cells: minWidthOf(head, contents[at] ?? 0) }));
  while (kept.length > 1 && widthOf(kept) > cells) kept.splice(lowestPriority(kept), 1);
  const [only] = kept;
  if (kept.length === 1 && only !== undefined && only.cells > cells) return [{ ...only, cells: Math.max(1, cells) }];
  let placed = withSpareCells(share(kept, cells - widthOf(kept)), contents);
  while (isCutShort(placed, contents)) {
    const worst = lowestPriority(kept);
    const priority = kept[worst]?.head.priority ?? 0;
    if (!placed.some((column) => column.head.priority < priority && isShort(column, contents))) break;
    kept.splice(worst, 1);
    placed = withSpareCells(share(kept, cells - widthOf(kept)), contents);
  }
  return placed;
}

/** Returns whether the column is narrower than its content, within its `wanted` width. */
const isShort = ({ at, head: { wanted = 0 }, cells }: Placed, contents: readonly number[]): boolean =>
  cells < Math.min(wanted, contents[at] ?? 0);

const isCutShort = (columns: readonly Placed[], contents: readonly number[]): boolean =>
  columns.some((column) => isShort(column, contents));

/** Moves unused width to columns whose text is shortened, beginning with the one that lacks least. */
function withSpareCells(columns: readonly Placed[], contents: readonly number[]): readonly Placed[] {
  const needOf = ({ at, head }: Placed): number =>
    head.align === "right" ? minWidthOf(head, contents[at] ?? 0) : Math.max(contents[at] ?? 0, cellsOf(head.head));
  const spare = columns.map((column) => Math.max(0, column.cells - needOf(column)));
  const wide = columns.map(({ cells }) => cells);
  const narrow = columns
    .map((column, at) => ({ at, cells: (contents[column.at] ?? 0) - column.cells }))
    .filter(({ cells }) => cells > 0)
    .sort((a, b) => a.cells - b.cells);
  for (const { at, cells } of narrow) {
    for (let taken = 0; taken < cells; taken++) {
      const largest = spare.indexOf(Math.max(...spare));
      if ((spare[largest] ?? 0) === 0) break;
      spare[largest] = (spare[largest] ?? 0) - 1;
      wide[largest] = (wide[largest] ?? 0) - 1;
      wide[at] = (wide[at] ?? 0) + 1;
    }
  }
  return columns.map((column, at) => ({ ...column, cells: wide[at] ?? column.cells }));
}

/**
 * Places columns at their natural width: always the first, and the others from `scrolled` on, as many as fit. `from` and `to`
 * are the range of visible other columns, counted from 1.
 */
export function scrollColumns(
  heads: readonly ColumnHead[],
  contents: readonly number[],
  cells: number,
  scrolled: number,
): { readonly placed: readonly Placed[]; readonly from: number; readonly to: number } {
  const all = heads.map((head, at) => ({
    at,
    head,
    cells: Math.max(minWidthOf(head, contents[at] ?? 0), contents[at] ?? 0),
  }));
  const [first, ...others] = all;
  if (first === undefined) return { placed: [], from: 0, to: 0 };
  const pinned = { ...first, cells: Math.min(first.cells, Math.max(1, Math.floor(cells / 2))) };
  const from = Math.min(Math.max(0, scrolled), Math.max(0, others.length - 1));
  const placed: Placed[] = [pinned];
  let left = cells - pinned.cells;
  for (const column of others.slice(from)) {
    const room = left - GAP;
    const isCut = column.cells > room;
    // The last text may be shortened; a number is shown completely or not at all, unless it would be the only column.
    if (isCut && (room < 8 || (column.head.align === "right" && placed.length > 1))) break;
    placed.push({ ...column, cells: Math.min(column.cells, room) });
    left = room - column.cells;
    if (isCut) break;
  }
  return { placed, from: from + 1, to: from + placed.length - 1 };
}

const widthOf = (columns: readonly Placed[]): number =>
  columns.reduce((sum, column) => sum + column.cells, 0) + GAP * Math.max(0, columns.length - 1);

function minWidthOf({ head, width, align }: ColumnHead, content: number): number {
  const declared = typeof width === "number" ? width : width.least;
  return Math.max(1, declared, align === "right" ? Math.max(content, cellsOf(head)) : 0);
}

/** Returns the column with the highest priority number; the rightmost among equals. */
function lowestPriority(columns: readonly Placed[]): number {
  let worst = 0;
  for (const [at, { head }] of columns.entries()) {
    if (head.priority >= (columns[worst]?.head.priority ?? 0)) worst = at;
  }
  return worst;
}

/** Distributes whole cells in proportion; the remainder goes to the first columns. */
function share(columns: readonly Placed[], spare: number): readonly Placed[] {
  const flexOf = ({ head: { width } }: Placed) => (typeof width === "number" ? 0 : Math.max(0, width.flex));
  const total = columns.reduce((sum, column) => sum + flexOf(column), 0);
  if (total === 0 || spare <= 0) return columns;
  const parts = columns.map((column) => Math.floor((spare * flexOf(column)) / total));
  let rest = spare - parts.reduce((sum, part) => sum + part, 0);
  return columns.map((column, at) => {
    const extra = rest > 0 && flexOf(column) > 0 ? 1 : 0;
    rest -= extra;
    return { ...column, cells: column.cells + (parts[at] ?? 0) + extra };
  });
}
