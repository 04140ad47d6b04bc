/** Finds telephone numbers in a text: groups of digits, and sequences of them that match a numbering plan. */

import { isInternational, MAX_DIGITS } from "./numbers.ts";

type Found = (start: number, end: number, proof: undefined) => void;

/** Maximum number of groups in one number; a row of more is a table. */
const MAX_GROUPS = 8;
/** Maximum number of digits including a dialing prefix, `0011`, and a trunk prefix in brackets. */
const MAX_DIALED = MAX_DIGITS + 5;

/** Minimum number of digits after `00` or `011`: a country code and a number. */
const MIN_DIALED = 9;

const DIGITS = /[0-9]+/g;

/** Allowed separators between two groups: at most three characters that can be read in only one way. */
const BETWEEN = /^(?:[ \-./]|\) ?|\)[-/]| ?\(| - |-\(| \/ |\) \()$/;
const EXTENSION = /(?:;ext=| {0,2}(?:extension|ext\.?|x|#) ?)\d{1,7}(?![\dA-Za-z])/iy;

interface Group {
  readonly start: number;
  readonly end: number;
}

/** Finds numbers with `+`, `00` or `011` before the country code, in time linear in the text. */
export function searchInternational(text: string, found: Found): void {
  eachRun(text, (groups) => {
    walk(text, groups, found, (first, last) => {
      const start = groups[first]!.start;
      const plus = plusBefore(text, start);
      const digits = digitsOf(text, groups, first, last);
      if (plus >= 0) return isInternational(digits) ? plus : undefined;
      const dialed = /^(?:00|011)(?=[1-9])/.exec(digits);
      if (dialed === null || !isEdge(text, start)) return undefined;
      // Shorter sequences are times, or counts with leading zeros.
      if (digits.length - dialed[0].length < MIN_DIALED) return undefined;
      if (!isInternational(digits.slice(dialed[0].length))) return undefined;
      return opening(text, groups, first, last);
    });
  });
}

/**
 * Returns a search for numbers as dialed within a region, in time linear in the text. `isNational` is called with
 * digits only.
 */
export function nationalSearch(isNational: (digits: string) => boolean): (text: string, found: Found) => void {
  return (text, found) => {
    eachRun(text, (groups) => {
      walk(text, groups, found, (first, last) => {
        const start = groups[first]!.start;
        if (plusBefore(text, start) >= 0 || !isEdge(text, start) || isOther(text, groups, first, last))
          return undefined;
        return isNational(digitsOf(text, groups, first, last)) ? opening(text, groups, first, last) : undefined;
      });
    });
  };
}

/** Reports the longest sequence from each group that `startOf` accepts, and continues after it. */
function walk(
  text: string,
  groups: readonly Group[],
  found: Found,
  startOf: (first: number, last: number) => number | undefined,
): void {
  for (let first = 0; first < groups.length; first += 1) {
    let last = first;
    let digits = length(groups[first]!);
    while (last + 1 < groups.length && last + 1 - first < MAX_GROUPS) {
      digits += length(groups[last + 1]!);
      if (digits > MAX_DIALED) break;
      last += 1;
    }
    for (; last >= first; last -= 1) {
      const end = groups[last]!.end;
      if (!isFree(text, end)) continue;
      const start = startOf(first, last);
      if (start === undefined) continue;
      found(start, extended(text, end), undefined);
      first = last;
      break;
    }
  }
}

/** Calls `take` for each run of digit groups that are separated only as in numbers. */
function eachRun(text: string, take: (groups: readonly Group[]) => void): void {
  let groups: Group[] = [];
  let digits = 0;
  const close = () => {
    if (digits >= 7) take(groups);
    groups = [];
    digits = 0;
  };
  DIGITS.lastIndex = 0;
  while (DIGITS.test(text)) {
    const end = DIGITS.lastIndex;
    let start = end - 1;
    while (isDigit(text.charCodeAt(start - 1))) start -= 1;
    const before = groups.at(-1);
    if (before !== undefined && !isJoined(text, before.end, start)) close();
    if (end - start > MAX_DIALED) close();
    else {
      groups.push({ start, end });
      digits += end - start;
    }
  }
  close();
}

function isJoined(text: string, from: number, to: number): boolean {
  if (to - from > 3) return false;
  if (to - from === 1) return " -./)(".includes(text[from]!);
  return BETWEEN.test(text.slice(from, to));
}

/** Returns the place of a plus sign before the first digit, with an optional bracket or space between; -1 if there is none. */
function plusBefore(text: string, start: number): number {
  const at = text[start - 1] === "(" || text[start - 1] === " " ? start - 2 : start - 1;
  if (at < 0 || text[at] !== "+") return -1;
  // A plus after a letter, digit or bracket belongs to a sum or a code: `1+2`, `a+49...`.
  return at > 0 && /[\p{L}\p{N}+)\]]/u.test(text[at - 1]!) ? -1 : at;
}

/** Returns whether the number is not a continuation of something before it: a word, a decimal, an amount, a longer number. */
function isEdge(text: string, start: number): boolean {
  const before = text[start - 1];
  if (before === undefined) return true;
  if (/[A-Za-z_$€£¥₹#@=&%\\]/.test(before)) return before === "=" && /tel=$/i.test(text.slice(start - 4, start));
  if ("-./:,+*'".includes(before)) return before === ":" && !isDigit(text.charCodeAt(start - 2));
  return !(before === " " && /[$€£¥₹]/.test(text[start - 2] ?? ""));
}

/** Returns whether the number does not continue after its last digit. */
function isFree(text: string, end: number): boolean {
  const next = text[end];
  if (next === undefined) return true;
  if (/[A-Za-z_%€£$°*=]/.test(next)) return next === "x" && isDigit(text.charCodeAt(end + 1));
  return !("-./:,'".includes(next) && /[\dA-Za-z]/.test(text[end + 1] ?? ""));
}

const DATES =
  /^(?:\d{1,4}\/\d{1,2}\/\d{1,4}|\d{4}-\d\d-\d\d|\d\d?[-.]\d\d?[-.](?:19|20)\d\d|(?:19|20)\d\d[-.]\d\d?[-.]\d\d?)(?:\D|$)/;
const QUAD = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const DECIMAL = /^\d{1,5}\.\d{1,15}$/;
/** Decimals: points together with spaces or slashes. */
const DECIMALS = /^[^)]*\.[^)]*[ /][^)]*$|^[^)]*[ /][^)]*\.[^)]*$/;
/** Ranges, of years such as `1998-2004` or of numbers of the same length. */
const RANGE = /^(\d{4})[-/ ](\d{4})$/;

function isOther(text: string, groups: readonly Group[], first: number, last: number): boolean {
  if (first === last) return false;
  const written = text.slice(groups[first]!.start, groups[last]!.end);
  const range = RANGE.exec(written);
  const isYears = range !== null && /^(?:19|20)/.test(range[1]!) && /^(?:19|20)/.test(range[2]!);
  return DATES.test(written) || QUAD.test(written) || DECIMAL.test(written) || DECIMALS.test(written) || isYears;
}

/** Returns the start of the number, including a bracket before the first digit if it is closed within the number. */
function opening(text: string, groups: readonly Group[], first: number, last: number): number {
  const start = groups[first]!.start;
  const isClosed = text.slice(start, groups[last]!.end).includes(")");
  return text[start - 1] === "(" && isClosed ? start - 1 : start;
}

function extended(text: string, end: number): number {
  EXTENSION.lastIndex = end;
  return EXTENSION.test(text) ? EXTENSION.lastIndex : end;
}

function digitsOf(text: string, groups: readonly Group[], first: number, last: number): string {
  let digits = "";
  for (let at = first; at <= last; at += 1) digits += text.slice(groups[at]!.start, groups[at]!.end);
  return digits;
}

function length({ start, end }: Group): number {
  return end - start;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}
