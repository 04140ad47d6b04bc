/** Format of a type's values: what format-preserving encryption keeps, and what it looks for on the way back. */

export interface ValueFormat {
  /**
   * Returns, for each code point of a whole value, the ASCII letters and digits that its pattern allows there; `undefined` for
   * a character that stays, such as a literal. Returns `undefined` if the text does not match the pattern.
   */
  readonly classesOf: (value: string) => readonly (string | undefined)[] | undefined;
  /** Calls `take` for every place of a text that matches the pattern, also for those that overlap; checks are off. */
  readonly each: (text: string, take: (start: number, end: number) => void) => void;
  /** Returns whether a whole text is a value, including its checks. */
  readonly accepts: (value: string) => boolean;
  /**
   * `check`: a check digit or a similar proof. `form`: a form that values have, which is part of the pattern. `none`: nothing
   * besides the pattern.
   */
  readonly proof: "check" | "form" | "none";
  /** Generates a text that matches the pattern from numbers in the range 0 to below 1. Returns `undefined` if none was found. */
  readonly sample: (random: () => number) => string | undefined;
}

/** Returns `undefined` if no recognizer knows the format of the type. */
export type FormatOf = (label: string) => ValueFormat | undefined;
