/** Format of a type's values: what format-preserving encryption keeps, and what it searches for when restoring. */

export interface ValueFormat {
  /**
   * Returns, for each code point of a whole value, the ASCII letters and digits that its pattern allows there; an element is
   * `undefined` if the character stays, such as a literal. Returns `undefined` if the text does not match the pattern.
   */
  readonly classesOf: (value: string) => readonly (string | undefined)[] | undefined;
  /** Calls `take` for every place of a text that matches the pattern, including overlapping ones, without checks. */
  readonly visitMatches: (text: string, take: (start: number, end: number) => void) => void;
  /** Returns whether a whole text is a valid value, including its checks. */
  readonly isValid: (value: string) => boolean;
  /**
   * `check`: a check digit or a similar proof. `form`: a form that belongs to the type, which is part of the pattern. `none`:
   * nothing besides the pattern.
   */
  readonly proof: "check" | "form" | "none";
  /**
   * Generates a text that matches the pattern. `random` returns numbers from 0 to below 1. Returns `undefined` if no text was
   * found.
   */
  readonly sample: (random: () => number) => string | undefined;
}

/** Returns the format of a type; `undefined` if no recognizer knows it. */
export type FormatOf = (label: string) => ValueFormat | undefined;
