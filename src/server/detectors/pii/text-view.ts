/**
 * Views of a text, in which patterns search, with the mapping back to places in the text. Source: guardrails reference,
 * 2.7.
 */

import { DIGIT_FORMS } from "../../core/guardrails/index.ts";
import { CONTROL, DROPPED, FOLDED_UNITS, FOLDS, foldOf, KEPT, MARK } from "./normalize-code-points.ts";

export interface View {
  readonly text: string;
  /** Returns the place in the text of the view's character at `at`. */
  readonly startOf: (at: number) => number;
  /**
   * Returns the place in the text after the view's character before `at`. Marks on it are included, ignored characters
   * after it are not.
   */
  readonly endOf: (at: number) => number;
}

const BEYOND_PLAIN = /[^\t-\r -~]/;

const identity = (at: number): number => at;

/**
 * Returns the views of one text, in linear time. A text without changes is its own view. Invisible characters, marks on
 * digits and forms of digits are read in both ways: as absent or plain digits, since they may be within a value, and as
 * they are, since they may separate two values, such as a footnote after a number.
 */
export function viewsOf(text: string): readonly [View, ...View[]] {
  if (!BEYOND_PLAIN.test(text) || !FOLDS.test(text)) return [{ text, startOf: identity, endOf: identity }];
  const { view, joins } = foldText(text, true);
  return joins ? [view, foldText(text, false).view] : [view];
}

/**
 * Folds a text. Unless `isJoined`, invisible characters between letters and digits become a space, and control characters,
 * marks and forms of digits stay. `joins`: whether the joined view differs.
 */
function foldText(text: string, isJoined: boolean): { readonly view: View; readonly joins: boolean } {
  const folds = FOLDED_UNITS;
  // From each of `places` on, a place in the view is `shift` further in the text.
  const places: number[] = [0];
  const shifts: number[] = [0];
  let shift = 0;
  let view = "";
  let copied = 0;
  let joins = false;
  const replace = (from: number, to: number, character: string): void => {
    view += text.slice(copied, from) + character;
    copied = to;
    const width = to - from;
    if (character.length === width) return;
    shift += width - character.length;
    const size = copied - shift;
    if (places.at(-1) === size) shifts[shifts.length - 1] = shift;
    else {
      places.push(size);
      shifts.push(shift);
    }
  };
  const unitBefore = (at: number): number =>
    copied === at ? view.charCodeAt(view.length - 1) : text.charCodeAt(at - 1);
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at);
    const isPair = (unit & 0xfc00) === 0xd800 && text.codePointAt(at)! > 0xffff;
    const to = isPair ? foldOf(text.codePointAt(at)!) : folds[unit]!;
    let end = at + (isPair ? 2 : 1);
    if (to === MARK) {
      // A mark on a letter stays: many languages use them.
      if (isJoined && isObfuscatedByMark(unitBefore(at), text, at)) {
        joins = true;
        replace(at, end, "");
      }
    } else if (to === CONTROL) {
      joins = true;
      if (isJoined) replace(at, end, "");
    } else if (to === DROPPED) {
      end = endOfInvisible(text, end);
      const isBetween = isAlphanumeric(unitBefore(at)) && isAlphanumeric(unitAt(text, end));
      joins ||= isBetween;
      replace(at, end, isBetween && !isJoined ? " " : "");
    } else if (to !== KEPT) {
      const isForm = isDigit(to) && DIGIT_FORMS.has(text.codePointAt(at)!);
      const isKept = isForm && (!isJoined || isListNumber(text, at, end));
      joins ||= isForm && !isKept;
      if (!isKept) replace(at, end, String.fromCharCode(to));
    }
    at = end;
  }
  view += text.slice(copied);
  const startOf = (at: number): number => at + shifts[lastNotAbove(places, at)]!;
  const endOf = (at: number): number => {
    if (at === 0) return 0;
    const start = startOf(at - 1);
    const codePoint = text.codePointAt(start)!;
    const end = start + (codePoint > 0xffff && foldOf(codePoint) !== KEPT ? 2 : 1);
    return isJoined && isObfuscatedByMark(view.charCodeAt(at - 1), text, end) ? endOfMarks(text, end) : end;
  };
  return { view: { text: view, startOf, endOf }, joins };
}

/** Returns the end of the invisible characters from a place on. */
function endOfInvisible(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const codePoint = text.codePointAt(at)!;
    if (foldOf(codePoint) !== DROPPED) break;
    at += codePoint > 0xffff ? 2 : 1;
  }
  return at;
}

/** Returns the end of the last mark among the marks and invisible characters from a place on. */
function endOfMarks(text: string, from: number): number {
  let end = from;
  for (let at = from; at < text.length; ) {
    const codePoint = text.codePointAt(at)!;
    const fold = foldOf(codePoint);
    if (fold !== MARK && fold !== DROPPED) break;
    at += codePoint > 0xffff ? 2 : 1;
    if (fold === MARK) end = at;
  }
  return end;
}

/** Maximum number of units of a word that are searched for a digit, in each direction. */
const WORD_REACH = 24;

/**
 * Returns whether a mark after this unit of a view, at this place of the text, obfuscates a value. It does after a
 * digit or a separator, and after a Latin letter of a word that contains a digit, such as a key.
 */
function isObfuscatedByMark(before: number, text: string, at: number): boolean {
  if (!(before < 0x80)) return false;
  if (!isAlphanumeric(before) || isDigit(before)) return true;
  return hasDigit(text, at - 1, -1) || hasDigit(text, at, 1);
}

function hasDigit(text: string, from: number, step: 1 | -1): boolean {
  for (let at = from, left = WORD_REACH; left > 0 && at >= 0 && at < text.length; at += step, left--) {
    const unit = unitAt(text, at);
    if (isDigit(unit)) return true;
    if (unit <= 0x20) return false;
  }
  return false;
}

/**
 * Returns whether a form of a digit is a list number or footnote, which does not join the numbers around it: it has no
 * adjacent letter or digit, no digit across one separator, and is not in a row of such forms.
 */
function isListNumber(text: string, start: number, end: number): boolean {
  return !(valueContinues(text, start, -1) || valueContinues(text, end, 1));
}

/** Returns whether a value continues in the direction of `step`. `edge`: place between the form and the text to examine. */
function valueContinues(text: string, edge: number, step: 1 | -1): boolean {
  let at = edge;
  for (let separator = 0; step === 1 ? at < text.length : at > 0; ) {
    const codePoint = step === 1 ? text.codePointAt(at)! : codePointBefore(text, at);
    const fold = foldOf(codePoint);
    const unit = fold === KEPT ? codePoint : fold;
    if (isDigit(unit)) return separator !== SPACE || DIGIT_FORMS.has(codePoint);
    if (separator === 0 && isAlphanumeric(unit)) return true;
    if (unit !== MARK && unit !== DROPPED && unit !== CONTROL) {
      if (separator !== 0 || !SEPARATORS.includes(unit)) return false;
      separator = unit;
    }
    at += step * (codePoint > 0xffff ? 2 : 1);
  }
  return false;
}

const SPACE = 0x20;
const SEPARATORS: readonly number[] = [..." -./"].map((one) => one.charCodeAt(0));

/** Returns the code point that ends at a place after the beginning. */
function codePointBefore(text: string, at: number): number {
  const codePoint = at > 1 ? text.codePointAt(at - 2)! : 0;
  return codePoint > 0xffff ? codePoint : text.charCodeAt(at - 1);
}

const isDigit = (unit: number): boolean => unit >= 0x30 && unit <= 0x39;

/** Returns the unit of a view that represents the character at a place. */
function unitAt(text: string, at: number): number {
  const codePoint = text.codePointAt(at) ?? 0;
  const fold = foldOf(codePoint);
  return fold === KEPT ? codePoint : fold;
}

function isAlphanumeric(unit: number): boolean {
  const lower = unit | 0x20;
  return (unit >= 0x30 && unit <= 0x39) || (lower >= 0x61 && lower <= 0x7a);
}

function lastNotAbove(places: readonly number[], at: number): number {
  let low = 0;
  let high = places.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (places[middle]! <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}
