/**
 * Tables of what is shown for a word of the admin API. A node of a later version may answer a word that this console does
 * not know: it is shown as it came, marked, and is no reason to end.
 */

import { cutToCells, escapeControls } from "../../base/index.ts";

/** No word of ours is longer. Cells. */
const MOST_CELLS = 20;

/** Looks a known word up, and makes what stands for any other: `unknown` is given text that may be shown, in capitals. */
export function wordTable<Word extends string, Shown>(
  known: Readonly<Record<Word, Shown>>,
  unknown: (text: string) => Shown,
): Readonly<Record<Word, Shown>> {
  return new Proxy(known, {
    get: (table, word) =>
      typeof word === "string" && !Object.hasOwn(table, word)
        ? unknown(cutToCells(escapeControls(word).toUpperCase(), MOST_CELLS))
        : Reflect.get(table, word),
  });
}
