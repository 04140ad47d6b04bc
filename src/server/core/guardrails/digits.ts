/**
 * Decimal digits of every script, and other forms of digits. Source: Unicode 17, general category Nd, in blocks of ten in order
 * of value; other forms are those with numeric type Digit. A test compares the tables with those of the runtime.
 */

const STARTS = (
  "0030 0660 06F0 07C0 0966 09E6 0A66 0AE6 0B66 0BE6 0C66 0CE6 0D66 0DE6 0E50 0ED0 0F20 1040 1090 17E0 1810 1946 19D0 " +
  "1A80 1A90 1B50 1BB0 1C40 1C50 A620 A8D0 A900 A9D0 A9F0 AA50 ABF0 FF10 104A0 10D30 10D40 11066 110F0 11136 111D0 " +
  "112F0 11450 114D0 11650 116C0 116D0 116DA 11730 118E0 11950 11BF0 11C50 11D50 11DA0 11DE0 11F50 16130 16A60 16AC0 " +
  "16B50 16D70 1CCF0 1D7CE 1D7D8 1D7E2 1D7EC 1D7F6 1E140 1E2F0 1E4F0 1E5F1 1E950 1FBF0"
)
  .split(" ")
  .map((start) => Number.parseInt(start, 16));

/** Returns the first code point of the digit's block of ten; -1 for other characters. */
export function digitBlock(codePoint: number): number {
  if (codePoint < 0x660) return codePoint >= 0x30 && codePoint <= 0x39 ? 0x30 : -1;
  let low = 0;
  let high = STARTS.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((STARTS[middle] ?? 0) <= codePoint) low = middle;
    else high = middle - 1;
  }
  const start = STARTS[low] ?? 0;
  return codePoint < start + 10 ? start : -1;
}

/**
 * Superscripts, subscripts, and digits in circles, in parentheses, or with a full stop or comma. They count as digits within a
 * value, but not next to one, where they are a footnote or a list number.
 */
const FORMS: readonly (readonly [first: number, value: number, count: number])[] = [
  [0xb2, 2, 2],
  [0xb9, 1, 1],
  [0x1369, 1, 9],
  [0x19da, 1, 1],
  [0x2070, 0, 1],
  [0x2074, 4, 6],
  [0x2080, 0, 10],
  [0x2460, 1, 9],
  [0x2474, 1, 9],
  [0x2488, 1, 9],
  [0x24ea, 0, 1],
  [0x24f5, 1, 9],
  [0x24ff, 0, 1],
  [0x2776, 1, 9],
  [0x2780, 1, 9],
  [0x278a, 1, 9],
  [0x1f100, 0, 1],
  [0x1f101, 0, 10],
  [0x1f10b, 0, 1],
  [0x1f10c, 0, 1],
];

/** Values of the forms of digits by code point. */
export const DIGIT_FORMS: ReadonlyMap<number, number> = new Map(
  FORMS.flatMap(([first, value, count]) => Array.from({ length: count }, (_, at) => [first + at, value + at] as const)),
);

/**
 * Replaces digits of every script and form by ASCII digits. The text gets shorter if some of them are outside the basic plane.
 */
export function foldDigits(text: string): string {
  return text.replace(OTHER_DIGITS, (digit) => {
    const codePoint = digit.codePointAt(0) ?? 0;
    const block = digitBlock(codePoint);
    return block < 0 ? String(DIGIT_FORMS.get(codePoint) ?? digit) : String(codePoint - block);
  });
}

const OTHER_DIGITS = /[\p{Nd}\p{No}]/gu;
