/** Interface of a search for the matches of one expression, with any engine. */

/** Callback for the span of a match, or of its group `value` if there is one. Empty matches are skipped. */
export type Place = (start: number, end: number) => void;

/** Function that calls `place` for each match, ascending and disjoint. */
export type Search = (text: string, place: Place) => void;

/** Returns the next place after the character at a place, so that no search begins within a character. */
export function nextPlace(text: string, at: number): number {
  return at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
}
