/** The text as patterns see it, and the way back to places in the text. Source: guardrails reference, 2.7. */

import { CONTROL, DROPPED, FOLDED_UNITS, FOLDS, foldOf, KEPT } from "./fold.ts";

export interface View {
  readonly text: string;
  /** Place in the text of the character of the view at `at`. */
  readonly startOf: (at: number) => number;
  /** Place in the text behind the character of the view before `at`; what is ignored there is not part of it. */
  readonly endOf: (at: number) => number;
}

const BEYOND_PLAIN = /[^\t-\r -~]/;

const itself = (at: number): number => at;

/**
 * Views of one text, in time linear in it; a text of which nothing changes is its own view. What nobody sees is read both
 * ways: as if it were not there, since it may be within a value, and as what it is, since it may be between two.
 */
export function viewsOf(text: string): readonly [View, ...View[]] {
  if (!BEYOND_PLAIN.test(text) || !FOLDS.test(text)) return [{ text, startOf: itself, endOf: itself }];
  const { view, joins } = folded(text, true);
  return joins ? [view, folded(text, false).view] : [view];
}

/**
 * Apart, invisible characters between letters and digits are a space, and control characters stay. `joins`: the view is not
 * as the one apart.
 */
function folded(text: string, isJoined: boolean): { readonly view: View; readonly joins: boolean } {
  const folds = FOLDED_UNITS;
  // From a place of the view on, the place in the text is so much further.
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
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at);
    const isPair = (unit & 0xfc00) === 0xd800 && text.codePointAt(at)! > 0xffff;
    const to = isPair ? foldOf(text.codePointAt(at)!) : folds[unit]!;
    let end = at + (isPair ? 2 : 1);
    if (to === CONTROL) {
      joins = true;
      if (isJoined) replace(at, end, "");
    } else if (to === DROPPED) {
      end = hiddenTo(text, end);
      const before = copied === at ? view.charCodeAt(view.length - 1) : text.charCodeAt(at - 1);
      const isBetween = isAlphanumeric(before) && isAlphanumeric(unitAt(text, end));
      joins ||= isBetween;
      replace(at, end, isBetween && !isJoined ? " " : "");
    } else if (to !== KEPT) replace(at, end, String.fromCharCode(to));
    at = end;
  }
  view += text.slice(copied);
  const startOf = (at: number): number => at + shifts[lastNotAbove(places, at)]!;
  const endOf = (at: number): number => {
    if (at === 0) return 0;
    const start = startOf(at - 1);
    const codePoint = text.codePointAt(start)!;
    return start + (codePoint > 0xffff && foldOf(codePoint) !== KEPT ? 2 : 1);
  };
  return { view: { text: view, startOf, endOf }, joins };
}

/** Behind the invisible characters from a place on. */
function hiddenTo(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const codePoint = text.codePointAt(at)!;
    if (foldOf(codePoint) !== DROPPED) break;
    at += codePoint > 0xffff ? 2 : 1;
  }
  return at;
}

/** The unit of a view that stands for the character at a place. */
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
