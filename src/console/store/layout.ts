/**
 * Layout: the number of lines of each region of the screen. The store moves the cursor by it and the drawing fills it, so that
 * both agree on the size of a page. The screen is one line lower than the terminal: Ink would clear and rewrite a frame as high
 * as the terminal each time. Source: operator console reference, A3 (1), B1 and B8. Units: lines and cells.
 */

import type { TableBody, View } from "../model/view.ts";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Minimum size; a smaller terminal shows only a message. */
export const MIN_SIZE: Size = { columns: 60, rows: 16 };
/** Minimum size for panes above and below a table. */
export const ROOMY_SIZE: Size = { columns: 100, rows: 30 };

/** Rows around the body: identity and health; the title; the lower border; the hints; the flash line, which a prompt replaces. */
const FRAME = 6;
/** Rows of a table's column heads. */
const HEAD_ROWS = 1;
/** Cells for the border and a blank at both sides of the body. */
const SIDE_CELLS = 4;
/**
 * Default maximum number of lines above or below a table, including a separator; a third of the body is the limit, or half of
 * it for a view that computes its lines.
 */
const MAX_BESIDE = 9;

export const isTooSmall = ({ columns, rows }: Size): boolean => columns < MIN_SIZE.columns || rows < MIN_SIZE.rows;

export const isRoomy = ({ columns, rows }: Size): boolean => columns >= ROOMY_SIZE.columns && rows >= ROOMY_SIZE.rows;

/** Returns the number of lines of the screen. */
export const screenRows = ({ rows }: Size): number => Math.max(1, rows - 1);

/** Returns the number of lines between the title and the lower border, at least one. A page of text uses all of them. */
export const bodyRows = (size: Size): number => Math.max(1, screenRows(size) - FRAME);

/** Returns the number of text cells in the body. */
export const bodyCells = ({ columns }: Size): number => Math.max(1, columns - SIDE_CELLS);

/** Minimum width at which a table may have its detail pane beside it. */
export const SPLIT_COLUMNS = 160;
/** Share of the terminal's width for the detail pane. */
const SIDE_SHARE = 0.4;

interface TableRegions {
  /** Lines above the heads; 0 if nothing is shown there. */
  readonly above: number;
  readonly head: number;
  /** Rows of the table, at least one. */
  readonly rows: number;
  /** Lines of the pane below the table, including its separator; 0 if none is shown. */
  readonly pane: number;
  /** Cells of the pane beside the table with its border; 0 if there is none. */
  readonly side: number;
}

/**
 * Returns the regions. They depend only on the size and on the kind of view, so that rows never jump when a pane has less text.
 */
export function tableRegions(size: Size, { body }: View, isSplit = false): TableRegions {
  const whole = bodyRows(size);
  const third = isRoomy(size) && body.kind === "table" ? Math.floor(whole / 3) : 0;
  const above = body.kind === "table" && body.above !== undefined ? aboveOf(size, body.aboveRows, third) : 0;
  const hasSide = isSplit && size.columns >= SPLIT_COLUMNS && body.kind === "table" && body.isAcross !== true;
  const side = hasSide ? Math.floor(size.columns * SIDE_SHARE) : 0;
  const pane = hasSide || body.kind !== "table" || body.pane === undefined ? 0 : paneOf(size, body, third);
  return { above, head: HEAD_ROWS, rows: Math.max(1, whole - HEAD_ROWS - above - pane), pane, side };
}

const paneOf = (size: Size, { paneRows }: TableBody, third: number): number =>
  paneRows === undefined ? Math.min(third, MAX_BESIDE) : isTooSmall(size) ? 0 : paneRows(size);

function aboveOf(size: Size, wanted: TableBody["aboveRows"], third: number): number {
  if (typeof wanted !== "function") return Math.min(third, wanted ?? MAX_BESIDE);
  return isTooSmall(size) ? 0 : Math.max(0, Math.min(wanted(size), Math.floor(bodyRows(size) / 2)));
}
