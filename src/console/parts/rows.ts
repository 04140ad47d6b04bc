/**
 * Painted rows, of which Ink is shown a token each. Ink takes every line of every frame apart into its cells and puts it
 * together again, which for a screen of colours is ten milliseconds a frame; a token is two cells, whatever the width of
 * the terminal. It tells lines apart as their texts do, so Ink still finds those that changed; in what Ink writes the rows
 * then take its place.
 *
 * Rows come in exact widths (`screen.tsx`), so there is nothing in them for Ink to measure or cut.
 */

/** Cells of a token, which is all that Ink has to have room for. */
export const TOKEN_CELLS = 2;

/**
 * The row and its turn, each a character of the private use area. All that Ink is shown are tokens, so nothing else can
 * look like one.
 */
const TOKEN = /([\ue000-\ue7ff])[\ue800-\uf8ff]/g;
const FIRST_ROW = 0xe000;
const FIRST_TURN = 0xe800;
/** A row is another one after the frame before, so turns may come round. */
const TURNS = 0xf900 - FIRST_TURN;

export interface PaintedRows {
  /** What to show Ink for the row; another one when it is painted otherwise. At most 2,048 rows. */
  tokenOf(row: number, painted: string): string;
  /** With the rows, as they were painted last, in the places of their tokens. */
  fill(text: string): string;
}

export function createPaintedRows(): PaintedRows {
  const rows: { readonly painted: string; readonly turn: number; readonly token: string }[] = [];
  return {
    tokenOf(row, painted) {
      const known = rows[row];
      if (known?.painted === painted) return known.token;
      const turn = known === undefined ? 0 : (known.turn + 1) % TURNS;
      const token = String.fromCharCode(FIRST_ROW + row, FIRST_TURN + turn);
      rows[row] = { painted, turn, token };
      return token;
    },
    fill: (text) => text.replace(TOKEN, (_, row: string) => rows[row.charCodeAt(0) - FIRST_ROW]?.painted ?? ""),
  };
}
