/** The text as patterns see it, and the way back to places in the text. Source: guardrails reference, 2.7. */

import { DROPPED, FOLDED_UNITS, FOLDS, foldOf, KEPT } from "./fold.ts";

export interface View {
  readonly text: string;
  /** Place in the text of the character of the view at `at`. */
  readonly startOf: (at: number) => number;
  /** Place in the text behind the character of the view before `at`; what is ignored there is not part of it. */
  readonly endOf: (at: number) => number;
}

const BEYOND_ASCII = /[^\0-\x7f]/;

const itself = (at: number): number => at;

/** In time linear in the text; a text of which nothing changes is its own view. */
export function viewOf(text: string): View {
  if (!BEYOND_ASCII.test(text) || !FOLDS.test(text)) return { text, startOf: itself, endOf: itself };
  return folded(text);
}

function folded(text: string): View {
  const units = new Uint16Array(text.length);
  // From a place of the view on, the place in the text is so much further.
  const places: number[] = [0];
  const shifts: number[] = [0];
  let size = 0;
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at);
    const codePoint = (unit & 0xfc00) === 0xd800 ? text.codePointAt(at)! : unit;
    const width = codePoint > 0xffff ? 2 : 1;
    const to = width === 2 ? foldOf(codePoint) : FOLDED_UNITS[unit]!;
    if (to === KEPT) {
      units[size++] = unit;
      if (width === 2) units[size++] = text.charCodeAt(at + 1);
    } else if (to !== DROPPED) units[size++] = to;
    at += width;
    if (at - size !== shifts.at(-1)) {
      if (places.at(-1) === size) shifts[shifts.length - 1] = at - size;
      else {
        places.push(size);
        shifts.push(at - size);
      }
    }
  }
  const startOf = (at: number): number => at + shifts[lastNotAbove(places, at)]!;
  return {
    text: decode(units.subarray(0, size)),
    startOf,
    endOf: (at) => {
      if (at === 0) return 0;
      const start = startOf(at - 1);
      const codePoint = text.codePointAt(start)!;
      return start + (codePoint > 0xffff && foldOf(codePoint) !== KEPT ? 2 : 1);
    },
  };
}

/** Texts are built of parts, since a call takes only so many arguments. */
function decode(units: Uint16Array): string {
  const PART = 8192;
  let text = "";
  for (let at = 0; at < units.length; at += PART) text += String.fromCharCode(...units.subarray(at, at + PART));
  return text;
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
