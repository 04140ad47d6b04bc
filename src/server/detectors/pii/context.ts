/**
 * Words before a match that raise its score. Source: guardrails reference, 2.2: words are runs of letters, marks and digits
 * in lower case without a plural `s`; a word of the recognizer is found as a whole word, from four letters on also as the
 * beginning of one, and in scripts without spaces, or with prefixes, anywhere. A phrase is found in the joined words.
 */

/** Without a list of stop words: reference, 2.2. */
const WORDS_BEFORE = 8;

/** UTF-16 units that are looked at before a match; bounds the time for each. */
const REACH = 256;

export const CONTEXT_BOOST = 0.35;
export const CONTEXT_FLOOR = 0.4;

const BEGINNING_FROM = 4;

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const ANYWHERE =
  /[\p{Script=Arabic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
const BLANK_LINE = /\n[ \t\r]*\n/g;

interface Word {
  /** As the recognizer's table has it. */
  readonly written: string;
  readonly wanted: string;
}

export type ContextWords = readonly Word[];

export function contextWords(words: readonly string[]): ContextWords {
  return words.flatMap((written) => {
    const joined = wordsOf(written).join(" ");
    if (joined === "") return [];
    if (ANYWHERE.test(joined)) return [{ written, wanted: joined }];
    return [{ written, wanted: joined.length >= BEGINNING_FROM ? ` ${joined}` : ` ${joined} ` }];
  });
}

/** Finds the first of the recognizer's words before a place; it remembers the last place, which patterns share. */
export class ContextReader {
  readonly #text: string;
  #at = -1;
  #before = "";

  /** `text` is the scan view. */
  constructor(text: string) {
    this.#text = text;
  }

  wordBefore(at: number, words: ContextWords): string | undefined {
    if (words.length === 0) return undefined;
    if (at !== this.#at) {
      this.#at = at;
      this.#before = before(this.#text, at);
    }
    return words.find(({ wanted }) => this.#before.includes(wanted))?.written;
  }
}

function before(text: string, at: number): string {
  const part = text.slice(Math.max(0, at - REACH), at);
  let from = 0;
  for (const blank of part.matchAll(BLANK_LINE)) from = blank.index + 1;
  return ` ${wordsOf(part.slice(from)).slice(-WORDS_BEFORE).join(" ")} `;
}

function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(WORD) ?? []).map(singular);
}

function singular(word: string): string {
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}
