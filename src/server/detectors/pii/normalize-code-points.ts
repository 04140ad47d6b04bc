/**
 * Replacements of code points in a scan view. Digits of every script and form, full-width forms, spaces, hyphens and
 * dots become ASCII; invisible characters and marks on digits are removed. Source: guardrails reference, 2.7.
 */

import { CONTROLS, DIGIT_FORMS, INVISIBLE, MARKS } from "../../core/guardrails/index.ts";

/**
 * First code point of each block of ten digits: general category Nd of Unicode 17. Mathematical digits are five blocks
 * in a row.
 */
const DIGIT_BLOCKS = (
  "0660 06F0 07C0 0966 09E6 0A66 0AE6 0B66 0BE6 0C66 0CE6 0D66 0DE6 0E50 0ED0 0F20 1040 1090 17E0 1810 1946 19D0 1A80 " +
  "1A90 1B50 1BB0 1C40 1C50 A620 A8D0 A900 A9D0 A9F0 AA50 ABF0 FF10 104A0 10D30 10D40 11066 110F0 11136 111D0 112F0 " +
  "11450 114D0 11650 116C0 116D0 116DA 11730 118E0 11950 11BF0 11C50 11D50 11DA0 11DE0 11F50 16130 16A60 16AC0 16B50 " +
  "16D70 1CCF0 1D7CE 1D7D8 1D7E2 1D7EC 1D7F6 1E140 1E2F0 1E4F0 1E5F1 1E950 1FBF0"
)
  .split(" ")
  .map((hex) => Number.parseInt(hex, 16));

/** Replacement character for the code points from `first` to `last`. */
const FOLDED: readonly (readonly [first: number, last: number, to: string])[] = [
  [0xa0, 0xa0, " "],
  [0x1680, 0x1680, " "],
  [0x2000, 0x200a, " "],
  [0x202f, 0x202f, " "],
  [0x205f, 0x205f, " "],
  [0x3000, 0x3000, " "],
  [0x2010, 0x2015, "-"],
  [0x2212, 0x2212, "-"],
  [0xfe58, 0xfe58, "-"],
  [0xfe63, 0xfe63, "-"],
  [0x2024, 0x2024, "."],
  [0xfe52, 0xfe52, "."],
  [0x066b, 0x066b, "."],
  [0x066c, 0x066c, ","],
  [0x060c, 0x060c, ","],
  [0xfe6b, 0xfe6b, "@"],
  // The two non-ASCII letters whose other case is ASCII, so that engines need not handle them.
  [0x017f, 0x017f, "s"],
  [0x212a, 0x212a, "K"],
  [0x2028, 0x2029, "\n"],
];

export const KEPT = 0;
export const DROPPED = 0xffff;
/** Replacement that marks a control character. */
export const CONTROL = 0xfffe;
/** Replacement that marks a combining mark, which is removed after a digit or a separator. */
export const MARK = 0xfffd;

/** Replacement for each UTF-16 unit in a view, or one of the four constants above. */
export const FOLDED_UNITS = new Uint16Array(0x10000);

const FOLDED_BEYOND = new Map<number, number>();

/** Pattern of the code points that a view may replace, built from the same ranges. */
export const FOLDS = new RegExp(`[${classOf()}${INVISIBLE}${CONTROLS}${MARKS}]`, "u");

const INVISIBLE_BEYOND = new RegExp(`^[${INVISIBLE}]$`, "u");
const MARK_BEYOND = new RegExp(`^[${MARKS}]$`, "u");

/** Maximum number of astral code points whose replacement is cached. */
const MAX_CACHED = 4_096;
const beyond = new Map<number, number>();

/** Returns `KEPT`, `DROPPED`, `CONTROL`, `MARK` or the unit that replaces a code point. */
export function foldOf(codePoint: number): number {
  if (codePoint < 0x10000) return FOLDED_UNITS[codePoint]!;
  return FOLDED_BEYOND.get(codePoint) ?? beyond.get(codePoint) ?? foldBeyond(codePoint);
}

function foldBeyond(codePoint: number): number {
  const character = String.fromCodePoint(codePoint);
  const fold = INVISIBLE_BEYOND.test(character) ? DROPPED : MARK_BEYOND.test(character) ? MARK : KEPT;
  if (beyond.size >= MAX_CACHED) beyond.clear();
  beyond.set(codePoint, fold);
  return fold;
}

function classOf(): string {
  const parts: string[] = [];
  const fold = (codePoint: number, unit: number) => {
    if (codePoint < 0x10000) FOLDED_UNITS[codePoint] = unit;
    else FOLDED_BEYOND.set(codePoint, unit);
  };
  const range = (first: number, last: number) => {
    parts.push(`\\u{${first.toString(16)}}-\\u{${last.toString(16)}}`);
  };
  for (let codePoint = 0xff01; codePoint <= 0xff5e; codePoint++) fold(codePoint, codePoint - 0xff01 + 0x21);
  range(0xff01, 0xff5e);
  for (const first of DIGIT_BLOCKS) {
    for (let digit = 0; digit < 10; digit++) fold(first + digit, 0x30 + digit);
    range(first, first + 9);
  }
  for (const [codePoint, digit] of DIGIT_FORMS) {
    fold(codePoint, 0x30 + digit);
    range(codePoint, codePoint);
  }
  for (const [first, last, to] of FOLDED) {
    for (let codePoint = first; codePoint <= last; codePoint++) fold(codePoint, to.charCodeAt(0));
    range(first, last);
  }
  // The ranges leave out surrogates, so that each index of the text passed to `dropAll` is a code point.
  dropAll(0, 0xd800, MARKS, MARK);
  dropAll(0xe000, 0x10000, MARKS, MARK);
  dropAll(0, 0xd800, INVISIBLE, DROPPED);
  dropAll(0xe000, 0x10000, INVISIBLE, DROPPED);
  dropAll(0, 0x100, CONTROLS, CONTROL);
  return parts.join("");
}

function dropAll(first: number, end: number, members: string, how: number): void {
  const text = String.fromCharCode(...Array.from({ length: end - first }, (_, at) => first + at));
  for (const { index, 0: run } of text.matchAll(new RegExp(`[${members}]+`, "gu"))) {
    for (let at = 0; at < run.length; at++) FOLDED_UNITS[first + index + at] = how;
  }
}
