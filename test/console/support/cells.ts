/** The screen of a headless terminal as plain cells, for tests of colors and for pictures. */

import type { Terminal } from "@xterm/headless";

export const COLOURS = [
  "black",
  "red",
  "green",
  "yellow",
  "blue",
  "magenta",
  "cyan",
  "white",
  "bright-black",
  "bright-red",
  "bright-green",
  "bright-yellow",
  "bright-blue",
  "bright-magenta",
  "bright-cyan",
  "bright-white",
] as const;

/** `palette-N` and `#rrggbb` are for programs that use more than the sixteen. */
export type Colour = "default" | (typeof COLOURS)[number] | `palette-${number}` | `#${string}`;

export interface Cell {
  /** Its character, a blank if empty; empty text for the second cell of a wide character. */
  readonly char: string;
  /** Number of cells of `char`: 0, 1 or 2. */
  readonly width: number;
  readonly fg: Colour;
  readonly bg: Colour;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly inverse: boolean;
  readonly underline: boolean;
}

/** Returns the rows of the current screen, each as wide as the terminal. */
export function cellsOf(terminal: Terminal): readonly (readonly Cell[])[] {
  return Array.from({ length: terminal.rows }, (_, row) => cellsOfRow(terminal, row));
}

export function cellsOfRow(terminal: Terminal, row: number): readonly Cell[] {
  const buffer = terminal.buffer.active;
  const line = buffer.getLine(buffer.baseY + row);
  if (line === undefined) throw new RangeError(`no row ${row} of ${terminal.rows}`);
  return Array.from({ length: terminal.cols }, (_, column): Cell => {
    const cell = line.getCell(column);
    if (cell === undefined) throw new RangeError(`no column ${column} of ${terminal.cols}`);
    const width = cell.getWidth();
    return {
      char: cell.getChars() || (width === 0 ? "" : " "),
      width,
      fg: cell.isFgDefault() ? "default" : colourOf(cell.getFgColor(), cell.isFgRGB()),
      bg: cell.isBgDefault() ? "default" : colourOf(cell.getBgColor(), cell.isBgRGB()),
      bold: cell.isBold() !== 0,
      dim: cell.isDim() !== 0,
      inverse: cell.isInverse() !== 0,
      underline: cell.isUnderline() !== 0,
    };
  });
}

/** Drops trailing blanks. */
export const textOfCells = (cells: readonly Cell[]): string =>
  cells
    .map(({ char }) => char)
    .join("")
    .trimEnd();

function colourOf(value: number, isRgb: boolean): Colour {
  if (isRgb) return `#${value.toString(16).padStart(6, "0")}`;
  return COLOURS[value] ?? `palette-${value}`;
}
