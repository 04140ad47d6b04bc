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
  const folds = FOLDED_UNITS;
  // From a place of the view on, the place in the text is so much further.
  const places: number[] = [0];
  const shifts: number[] = [0];
  let shift = 0;
  let view = "";
  let copied = 0;
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at);
    const isPair = (unit & 0xfc00) === 0xd800 && text.codePointAt(at)! > 0xffff;
    const width = isPair ? 2 : 1;
    const to = isPair ? foldOf(text.codePointAt(at)!) : folds[unit]!;
    if (to !== KEPT) {
      const character = to === DROPPED ? "" : String.fromCharCode(to);
      view += text.slice(copied, at) + character;
      copied = at + width;
      if (character.length !== width) {
        shift += width - character.length;
        const size = copied - shift;
        if (places.at(-1) === size) shifts[shifts.length - 1] = shift;
        else {
          places.push(size);
          shifts.push(shift);
        }
      }
    }
    at += width;
  }
  view += text.slice(copied);
  const startOf = (at: number): number => at + shifts[lastNotAbove(places, at)]!;
  return {
    text: view,
    startOf,
    endOf: (at) => {
      if (at === 0) return 0;
      const start = startOf(at - 1);
      const codePoint = text.codePointAt(start)!;
      return start + (codePoint > 0xffff && foldOf(codePoint) !== KEPT ? 2 : 1);
    },
  };
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
