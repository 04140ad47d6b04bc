/** Splits a typed line into words as a shell does: at blanks, except within quotes or after a backslash. */

import { UsageError } from "./flags.ts";

/**
 * Returns the words, without expanding anything. Throws `UsageError` if a quote is not closed. Source: POSIX.1-2017,
 * 2.2.
 */
export function splitWords(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? "";
    const escapes = character === "\\" && quote !== "'" && at + 1 < line.length;
    if (escapes) {
      at += 1;
      word = (word ?? "") + (line[at] ?? "");
    } else if (quote !== "") {
      if (character === quote) quote = "";
      else word = (word ?? "") + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quote !== "") throw new UsageError(`a ${quote} is not closed`);
  if (word !== undefined) words.push(word);
  return words;
}
