/**
 * Painted rows, each represented by a token for Ink. Ink splits every line of every frame into cells and joins it again, which
 * takes ten milliseconds per frame for a colored screen; a token has five cells at any terminal width. Ink compares lines by
 * their text, so it still finds the changed ones; in Ink's output, the changed part of a row then replaces its token
 * (`row-difference.ts`).
 *
 * Rows have exact widths (`ink-screen.tsx`), so Ink has nothing to measure or cut.
 */

import { createRowWriter, type Run } from "./row-difference.ts";
import { paintRuns } from "./theme.ts";

/** Width of a token in cells, which is all that Ink lays out. */
export const TOKEN_CELLS = 5;

/**
 * Token: row and version in braces, as ASCII digits of base 64, because Ink measures any other text with Unicode tables. Ink
 * receives only tokens, and its own sequences have no braces, so nothing else can match. The sequence before it that erases the
 * line (`ink-output.ts`) is replaced with it.
 */
const TOKEN = /(?:\x1b\[1G\x1b\[K)?\{([0-o])([0-o])[0-o]\}/g;
const FIRST_DIGIT = 0x30;
const BASE = 64;

/** Returns a token. A row differs only from its previous frame, so versions may wrap around. */
const tokenFor = (row: number, turn: number): string =>
  `{${String.fromCharCode(...[Math.floor(row / BASE), row % BASE, turn % BASE].map((digit) => FIRST_DIGIT + digit))}}`;

const digitOf = (character: string): number => character.charCodeAt(0) - FIRST_DIGIT;

export interface PaintedRows {
  /**
   * Returns the token that stands for the row in Ink's output. It changes if the row is painted differently. There are
   * at most 4,096 rows.
   */
  tokenOf(row: number, runs: readonly Run[]): string;
  /** Replaces tokens with the output for the rows that were painted last; the screen is blank at first. */
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
