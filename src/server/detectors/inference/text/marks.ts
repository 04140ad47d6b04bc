/**
 * Removes vowel marks and tatweel from Arabic text before it is tokenized, since models are trained without them, and
 * maps findings back. Positions are UTF-16 units. Source: guardrails reference, 2.7 (`strip_marks`).
 */

const MARKS =
  /[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u08d3-\u08e1\u08e3-\u08ff]+/g;

/** Text in the form that a tokenizer gets. */
export interface TokenizedView {
  readonly text: string;
  /** Returns the place in the original text of a place in this view. */
  readonly startOf: (place: number) => number;
  /** Returns the place of an end in the original text; marks after the last unit before it are included. */
  readonly endOf: (place: number) => number;
}

const same = (place: number): number => place;

export const unchanged = (text: string): TokenizedView => ({ text, startOf: same, endOf: same });

export function withoutMarks(text: string): TokenizedView {
  const kept: string[] = [];
  /** Places in the view where something was removed, and the number of units removed up to there; both ascending. */
  const cuts: number[] = [];
  const taken: number[] = [];
  let from = 0;
  let total = 0;
  for (const { 0: marks, index } of text.matchAll(MARKS)) {
    kept.push(text.slice(from, index));
    cuts.push(index - total);
    total += marks.length;
    taken.push(total);
    from = index + marks.length;
  }
  if (total === 0) return unchanged(text);
  kept.push(text.slice(from));
  /** Returns the number of units removed at or before the place. */
  const before = (place: number): number => {
    let low = 0;
    let high = cuts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((cuts[middle] as number) <= place) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : (taken[low - 1] as number);
  };
  // Marks before a unit belong to the previous unit, so starts and ends are both after them.
  const original = (place: number): number => place + before(place);
  return { text: kept.join(""), startOf: original, endOf: original };
}
