/**
 * Painted rows, of which Ink is shown a token each. Ink takes every line of every frame apart into its cells and puts it
 * together again, which for a screen of colours is ten milliseconds a frame; a token is two cells, whatever the width of
 * the terminal. It tells lines apart as their texts do, so Ink still finds those that changed; in what Ink writes, what
 * changed in a row then takes the place of its token (`row-difference.ts`).
 *
 * Rows come in exact widths (`screen.tsx`), so there is nothing in them for Ink to measure or cut.
 */

import { createRowWriter, type Run } from "./row-difference.ts";
import { paintRuns } from "./theme.ts";

/** Cells of a token, which is all that Ink has to have room for. */
export const TOKEN_CELLS = 5;

/**
 * The row and its turn in braces, as digits of base 64 that are ASCII: Ink measures any other text with tables of Unicode.
 * All that Ink is shown are tokens, and its own sequences have no braces, so nothing else can look like one. What erases the
 * line before it (`output.ts`) is left to the row.
 */
const TOKEN = /(?:\x1b\[1G\x1b\[K)?\{([0-o])([0-o])[0-o]\}/g;
const FIRST_DIGIT = 0x30;
const BASE = 64;

/** A row is another one after the frame before, so turns may come round. */
const tokenFor = (row: number, turn: number): string =>
  `{${String.fromCharCode(...[Math.floor(row / BASE), row % BASE, turn % BASE].map((digit) => FIRST_DIGIT + digit))}}`;

const digitOf = (character: string): number => character.charCodeAt(0) - FIRST_DIGIT;

export interface PaintedRows {
  /** What to show Ink for the row; another one when it is painted otherwise. At most 4,096 rows. */
  tokenOf(row: number, runs: readonly Run[]): string;
  /** With what makes the rows those that were painted last in the places of their tokens; the screen was blank at first. */
  fill(text: string): string;
}

interface Painted {
  readonly runs: readonly Run[];
  readonly text: string;
  readonly turn: number;
  readonly token: string;
}

export function createPaintedRows(): PaintedRows {
  const rows: Painted[] = [];
  const writer = createRowWriter();
  return {
    tokenOf(row, runs) {
      const known = rows[row];
      const text = paintRuns(runs);
      if (known?.text === text) return known.token;
      const turn = known === undefined ? 0 : known.turn + 1;
      const token = tokenFor(row, turn);
      rows[row] = { runs, text, turn, token };
      return token;
    },
    fill: (text) =>
      text.replace(TOKEN, (_, high: string, low: string) => {
        const row = digitOf(high) * BASE + digitOf(low);
        return writer.write(row, rows[row]?.runs ?? []);
      }),
  };
}
