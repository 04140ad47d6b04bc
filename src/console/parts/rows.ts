/**
 * Painted rows, of which Ink is shown a token each. Ink takes every line of every frame apart into its cells and puts it
 * together again, which for a screen of colours is ten milliseconds a frame; a token is two cells and a number. It tells
 * lines apart as their texts do, so Ink still finds those that changed; in what Ink writes the rows then take its place.
 *
 * Rows come in exact widths (`screen.tsx`), so there is nothing in them for Ink to measure or cut.
 */

/** Of the private use area. All that Ink is shown are tokens, so nothing else can look like one. */
const TOKEN = /\u{e000}(\d+)\.\d+\u{e001}/gu;

export interface PaintedRows {
  /** What to show Ink for the row; another one when it is painted otherwise. */
  tokenOf(row: number, painted: string): string;
  /** With the rows, as they were painted last, in the places of their tokens. */
  fill(text: string): string;
}

export function createPaintedRows(): PaintedRows {
  const rows: { readonly painted: string; readonly token: string }[] = [];
  let made = 0;
  return {
    tokenOf(row, painted) {
      const known = rows[row];
      if (known?.painted === painted) return known.token;
      made += 1;
      const token = `\u{e000}${row}.${made}\u{e001}`;
      rows[row] = { painted, token };
      return token;
    },
    fill: (text) => text.replace(TOKEN, (_, row: string) => rows[Number(row)]?.painted ?? ""),
  };
}
