/** How values of one pattern are written. All texts are scan views of texts. */
export interface PatternFormat {
  /** Returns the letters and digits allowed at each code point of a value; `undefined` where the character must stay. */
  readonly classesOf: (value: string) => readonly (string | undefined)[] | undefined;
  /** Places that match the pattern, checks off. */
  readonly each: (text: string, take: (start: number, end: number) => void) => void;
  /** Whether a text is a value as a whole, checks on. */
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
