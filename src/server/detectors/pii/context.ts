/**
 * Finds words before a match that raise its score. Source: guardrails reference, 2.2: words are runs of letters, marks
 * and digits in lower case without a plural `s`. A word of the recognizer is found as a whole word, from four letters
 * on also as the beginning of one, and in scripts without spaces, or with prefixes, anywhere. A phrase is found in the
 * joined words.
 */

/** Number of words before a match that are read; there is no list of stop words (reference, 2.2). */
const WORDS_BEFORE = 8;

/** Maximum distance before a match in UTF-16 units, which limits the time for each match. */
const REACH = 256;

export const CONTEXT_BOOST = 0.35;
export const CONTEXT_FLOOR = 0.4;

const BEGINNING_FROM = 4;

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const ANYWHERE =
  /[\p{Script=Arabic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

const LINE_FEED = 0x0a;

/** ASCII characters of words: letters and digits. Non-ASCII text counts as a word until it is segmented. */
const IN_WORD = Uint8Array.from({ length: 0x80 }, (_, unit) => (/[0-9A-Za-z]/.test(String.fromCharCode(unit)) ? 1 : 0));

interface Word {
  /** Word as in the recognizer's table. */
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

/** Finds the first of the recognizer's words before a place. Caches the last place, which several patterns share. */
export class ContextReader {
  readonly #text: string;
  #at = -1;
  #before = "";

  /** Creates a reader. `text` is the scan view. */
  constructor(text: string) {
    this.#text = text;
  }

  wordBefore(at: number, words: ContextWords): string | undefined {
    if (words.length === 0) return undefined;
    if (at !== this.#at) {
      this.#at = at;
      this.#before = before(this.#text, at);
    }
    for (const { wanted, written } of words) if (this.#before.includes(wanted)) return written;
    return undefined;
  }
}

function before(text: string, at: number): string {
  const least = Math.max(0, at - REACH);
  let from = at;
  let words = 0;
  for (let inWord = false; from > least; from--) {
    const unit = text.charCodeAt(from - 1);
    const isWord = unit > 0x7f || IN_WORD[unit] === 1;
    if (!isWord) {
      if (inWord && ++words === WORDS_BEFORE) break;
      if (unit === LINE_FEED && isBlankBefore(text, from - 1, least)) break;
    }
    inWord = isWord;
  }
  return ` ${wordsOf(text.slice(from, at)).slice(-WORDS_BEFORE).join(" ")} `;
}

/** Returns whether the line that ends at `at` is blank. */
function isBlankBefore(text: string, at: number, least: number): boolean {
  for (let back = at - 1; back >= least; back--) {
    const unit = text.charCodeAt(back);
    if (unit === LINE_FEED) return true;
    if (unit !== 0x20 && unit !== 0x09 && unit !== 0x0d) return false;
  }
  return false;
}

function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(WORD) ?? []).map(singular);
}

function singular(word: string): string {
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}
