/** What finds the places of one expression, whichever engine does it. */

/** Of the whole match, or of its group `value` where there is one. Empty matches are passed over. */
export type Place = (start: number, end: number) => void;

/** Calls `place` for each match, ascending and apart. */
export type Search = (text: string, place: Place) => void;

/** Behind the character at a place, so that no search begins within one. */
export function nextPlace(text: string, at: number): number {
  return at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
}
