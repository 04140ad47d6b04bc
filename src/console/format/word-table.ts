/**
 * Display texts for the enumerations of the admin API. A word that only a newer node knows is shown as it is, with a
 * mark, and is not an error.
 */

import { cutToCells, escapeControls } from "../../base/index.ts";

/** Maximum width of an unknown word in cells; known ones are shorter. */
const MAX_CELLS = 20;

/** Returns the text of a known word, or builds one for any other: `unknown` receives the safe text in capitals. */
export function withUnknownWords<Word extends string, Shown>(
  known: Readonly<Record<Word, Shown>>,
  unknown: (text: string) => Shown,
): Readonly<Record<Word, Shown>> {
  return new Proxy(known, {
    get: (table, word) =>
      typeof word === "string" && !Object.hasOwn(table, word)
        ? unknown(cutToCells(escapeControls(word).toUpperCase(), MAX_CELLS))
        : Reflect.get(table, word),
  });
}
