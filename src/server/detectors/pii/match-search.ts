/** Interface of a search for the matches of one expression, with any engine. */

/** Span of the whole match, or of its group `value` if there is one. Empty matches are skipped. */
export type Place = (start: number, end: number) => void;

/** Calls `place` for each match, ascending and disjoint. */
export type Search = (text: string, place: Place) => void;

/** Returns the place after the character at a place, so that no search begins within one. */
export function nextPlace(text: string, at: number): number {
  return at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
}
