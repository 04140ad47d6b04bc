/** Splits a line into words like a POSIX shell (POSIX.1-2017, 2.2), with quotes and backslashes but without any expansion. */

type SplitLine =
  | { readonly kind: "words"; readonly words: readonly string[] }
  /** `quote` is not closed. */
  | { readonly kind: "unclosed"; readonly quote: string };

export function splitWords(line: string): SplitLine {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? "";
    if (character === "\\" && quote !== "'" && at + 1 < line.length) {
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
  if (quote !== "") return { kind: "unclosed", quote };
  if (word !== undefined) words.push(word);
  return { kind: "words", words };
}
