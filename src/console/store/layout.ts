/**
 * How many lines each region of the screen has. The store moves the cursor by it and the drawing fills it, so both agree
 * on what a page is. The screen is one line lower than the terminal: a frame as high as the terminal would be cleared and
 * written whole each time. Source: operator console reference, A3 (1), B1 and B8. Units: lines and cells.
 */

import type { TableBody, View } from "../model/view.ts";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Below it nothing but a line that says so. */
export const LEAST_SIZE: Size = { columns: 60, rows: 16 };
/** From here on there is room for what stands above and below a table. */
export const ROOMY_SIZE: Size = { columns: 100, rows: 30 };

/** Rows around the body: identity and health; the title; the lower border; the hints; the flash line, which a prompt takes the place of. */
const FRAME = 6;
/** Of a table: the heads of its columns. */
const HEAD_ROWS = 1;
/** The border and a blank at each side of the body. */
const SIDE_CELLS = 4;
/** Of what stands above or below a table, a rule between included, unless a view says more: never more than a third of the body. */
const MOST_BESIDE = 9;

export const isTooSmall = ({ columns, rows }: Size): boolean => columns < LEAST_SIZE.columns || rows < LEAST_SIZE.rows;

export const isRoomy = ({ columns, rows }: Size): boolean => columns >= ROOMY_SIZE.columns && rows >= ROOMY_SIZE.rows;

/** All lines of the screen. */
export const screenRows = ({ rows }: Size): number => Math.max(1, rows - 1);

/** Between the title and the lower border; one at least. A page of text has all of it. */
export const bodyRows = (size: Size): number => Math.max(1, screenRows(size) - FRAME);

/** Cells of text in the body. */
export const bodyCells = ({ columns }: Size): number => Math.max(1, columns - SIDE_CELLS);

/** From here on a table may have the detail of its row beside it. */
export const SPLIT_COLUMNS = 160;
/** Part of the terminal that the detail takes. */
const SIDE_SHARE = 0.4;

export interface TableRegions {
  /** Lines above the heads; 0: nothing is shown there. */
  readonly above: number;
  readonly head: number;
  /** Rows of the table, one at least. */
  readonly rows: number;
  /** Lines of the pane with the rule that parts it from the table; 0: none is shown. */
  readonly pane: number;
  /** Cells of the pane beside the table, its border included; 0: there is none. */
  readonly side: number;
}

/** Fixed by the size and by what the view has at all, so that rows never jump when a pane has less to say. */
export function tableRegions(size: Size, { body }: View, isSplit = false): TableRegions {
  const whole = bodyRows(size);
  const third = isRoomy(size) && body.kind === "table" ? Math.floor(whole / 3) : 0;
  const above = body.kind === "table" && body.above !== undefined ? aboveOf(size, body.aboveRows, third) : 0;
  const hasSide = isSplit && size.columns >= SPLIT_COLUMNS && body.kind === "table" && body.isAcross !== true;
  const side = hasSide ? Math.floor(size.columns * SIDE_SHARE) : 0;
  const pane = !hasSide && body.kind === "table" && body.pane !== undefined ? Math.min(third, MOST_BESIDE) : 0;
  return { above, head: HEAD_ROWS, rows: Math.max(1, whole - HEAD_ROWS - above - pane), pane, side };
}

function aboveOf(size: Size, wanted: TableBody["aboveRows"], third: number): number {
  if (typeof wanted !== "function") return Math.min(third, wanted ?? MOST_BESIDE);
  return isTooSmall(size) ? 0 : Math.max(0, Math.min(wanted(size), Math.floor(bodyRows(size) / 2)));
}
