/** Finds where more text may still complete a match, and positions in such texts. Source: guardrails reference, 5.2. */
import { DIGIT_FORMS } from "../digits.ts";
import { INVISIBLE, MARKS } from "../invisible-characters.ts";
import type { Reach } from "../types.ts";

/**
 * Returns the smallest position at or after `from` where a match may begin that is not yet complete, or not yet followed by the
 * required context; the text's length if there is none.
 */
export function pendingFrom(text: string, from: number, reach: Reach): number {
  const { maxBytes, rightBytes, mayContain, isIgnored, prefix } = reach;
  const bytesAt = (at: number): number => {
    const codePoint = text.codePointAt(at) ?? 0;
    return isIgnored?.(codePoint) === true ? 0 : bytesOf(codePoint);
  };
  const { length } = text;
  let earliest = length;
  /** Start of the last run. It ended at a character outside the reach, so runs that end later begin there too. */
  let stopped = length;
  // A match may end before the last bytes, which are then its required context.
  for (let end = length, beyond = 0; ; ) {
    if (end <= stopped) {
      const start = runStart(text, from, end, maxBytes, mayContain, bytesAt);
      if (start < end) earliest = Math.min(earliest, prefixStart(text, start, length, prefix));
      const isStopped = start <= from || !mayContain(codePointBefore(text, start));
      stopped = isStopped ? start : end;
    }
    // A run that reaches back over the next positions covers them.
    if (end <= from || beyond >= rightBytes) return earliest;
    const before = end - widthBefore(text, end);
    beyond += bytesAt(before);
    end = before;
  }
}

/** Returns the position, moved to before the pair if it is within a surrogate pair. */
export function boundary(text: string, at: number): number {
  return at > 0 && at < text.length && isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1)) ? at - 1 : at;
}

/** Returns the earliest position that is at most `bytes` before the end. */
export function tailStart(text: string, bytes: number): number {
  let at = text.length;
  for (let left = bytes; at > 0; ) {
    const before = at - widthBefore(text, at);
    left -= bytesAt(text, before);
    if (left < 0) break;
    at = before;
  }
  return at;
}

export const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

/** Returns the start of the run of characters that ends at `end`, at most as long as a match can be. */
function runStart(
  text: string,
  from: number,
  end: number,
  maxBytes: number,
  mayContain: Reach["mayContain"],
  bytesAt: (at: number) => number,
): number {
  let at = end;
  for (let left = maxBytes; at > from; ) {
    const before = at - widthBefore(text, at);
    left -= bytesAt(before);
    if (left < 0 || before < from || !mayContain(text.codePointAt(before) ?? 0)) break;
    at = before;
  }
  return at;
}

/**
 * Returns the first position from `start` on with the prefix, or with the beginning of the prefix at the text's end; otherwise
 * `end`.
 */
function prefixStart(text: string, start: number, end: number, prefix: string): number {
  if (prefix === "") return start;
  const { folded, offsets: places } = foldText(text, start, Math.min(text.length, end + prefix.length));
  const at = folded.indexOf(prefix);
  if (at >= 0) return Math.min(end, places[at] ?? start + at);
  for (let length = Math.min(prefix.length - 1, folded.length); length > 0; length--) {
    if (!folded.endsWith(prefix.slice(0, length))) continue;
    const place = folded.length - length;
    return Math.min(end, places[place] ?? start + place);
  }
  return end;
}

const NO_OFFSETS: readonly number[] = [];
const BEYOND_ASCII = /[^\0-\x7f]/;
const IGNORABLE = new RegExp(`[\\p{Cf}${MARKS}${INVISIBLE}]`, "u");

/** Normalizes text like prefixes: wide and accented forms become plain, invisible characters are dropped. */
function foldText(text: string, start: number, end: number): { folded: string; offsets: readonly number[] } {
  const part = text.slice(start, end);
  if (!BEYOND_ASCII.test(part)) return { folded: part.toLowerCase(), offsets: NO_OFFSETS };
  let folded = "";
  const places: number[] = [];
  let at = start;
  for (const character of part) {
    const plain = foldedForm(character.codePointAt(0) ?? 0);
    for (let i = 0; i < plain.length; i++) places.push(at);
    folded += plain;
    at += character.length;
  }
  return { folded, offsets: places };
}

/** Returns a character normalized like prefixes; empty if it is invisible. */
export function foldedForm(codePoint: number): string {
  const character = String.fromCodePoint(codePoint);
  if (codePoint < 0x80) return character.toLowerCase();
  const digit = DIGIT_FORMS.get(codePoint);
  if (digit !== undefined) return String(digit);
  return IGNORABLE.test(character) ? "" : character.normalize("NFKC").toLowerCase();
}

/** Returns the code point that ends at `at`, which is greater than 0. */
export function codePointBefore(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1);
  return isLow(unit) && at > 1 && isHigh(text.charCodeAt(at - 2)) ? (text.codePointAt(at - 2) ?? unit) : unit;
}

/** Returns the length of a code point in UTF-8 bytes. */
export const bytesOf = (codePoint: number): number =>
  codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;

const widthBefore = (text: string, at: number): number => (codePointBefore(text, at) > 0xffff ? 2 : 1);

const bytesAt = (text: string, at: number): number => bytesOf(text.codePointAt(at) ?? 0);
