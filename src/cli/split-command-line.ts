/** A line that somebody typed, as a shell would split it: blanks part words, quotes and a backslash keep them together. */

import { UsageError } from "./flags.ts";

/** Nothing is expanded. Throws `UsageError` where a quote is not closed. POSIX.1-2017, 2.2. */
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
