/** Country codes of telephone numbers. Source: ITU-T E.164, list of assigned codes; codes not listed here have three digits. */

const TWO_DIGITS = new Set(
  (
    "20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 " +
    "92 93 94 95 98"
  ).split(" "),
);

/** Returns the number of digits of the country code after a plus sign. */
export function callingCodeLength(digits: string): number {
  if (/^[17]/.test(digits)) return 1;
  return TWO_DIGITS.has(digits.slice(0, 2)) ? 2 : 3;
}
