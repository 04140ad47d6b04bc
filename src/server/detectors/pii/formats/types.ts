/** Format of one pattern's values. All texts are scan views. */
export interface PatternFormat {
  /** Returns the letters and digits allowed at each code point of a value; `undefined` where the character must stay. */
  readonly classesOf: (value: string) => readonly (string | undefined)[] | undefined;
  /** Calls `take` for each match of the pattern, without checks. */
  readonly each: (text: string, take: (start: number, end: number) => void) => void;
  /** Returns whether a text as a whole is a value, with checks. */
  readonly accepts: (value: string) => boolean;
  readonly proof: "check" | "form" | "none";
  readonly sample: (random: () => number) => string | undefined;
}

export const DIGITS = "0123456789";
export const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
export const ALPHANUMERICS = DIGITS + LETTERS;

export function pick<Value>(values: ArrayLike<Value>, random: () => number): Value {
  return values[Math.floor(random() * values.length)]!;
}
