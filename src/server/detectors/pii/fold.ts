/**
 * Code points that a scan view has otherwise than the text: digits of every script, full-width forms, spaces, hyphens and
 * dots become ASCII, ignorable characters are left out. Source: guardrails reference, 2.7.
 */

/** First of ten digits each: general category Nd of Unicode 17; mathematical digits are five alphabets in a row. */
const DIGIT_BLOCKS = (
  "0660 06F0 07C0 0966 09E6 0A66 0AE6 0B66 0BE6 0C66 0CE6 0D66 0DE6 0E50 0ED0 0F20 1040 1090 17E0 1810 1946 19D0 1A80 " +
  "1A90 1B50 1BB0 1C40 1C50 A620 A8D0 A900 A9D0 A9F0 AA50 ABF0 FF10 104A0 10D30 10D40 11066 110F0 11136 111D0 112F0 " +
  "11450 114D0 11650 116C0 116D0 116DA 11730 118E0 11950 11BF0 11C50 11D50 11DA0 11DE0 11F50 16130 16A60 16AC0 16B50 " +
  "16D70 1CCF0 1D7CE 1D7D8 1D7E2 1D7EC 1D7F6 1E140 1E2F0 1E4F0 1E5F1 1E950 1FBF0"
)
  .split(" ")
  .map((hex) => Number.parseInt(hex, 16));

/** What becomes of the code points from `first` to `last`; an empty text: nothing. */
const FOLDED: readonly (readonly [first: number, last: number, to: string])[] = [
  [0xa0, 0xa0, " "],
  [0x1680, 0x1680, " "],
  [0x2000, 0x200a, " "],
  [0x202f, 0x202f, " "],
  [0x205f, 0x205f, " "],
  [0x3000, 0x3000, " "],
  [0x2010, 0x2015, "-"],
  [0x2212, 0x2212, "-"],
  [0xfe58, 0xfe58, "-"],
  [0xfe63, 0xfe63, "-"],
  [0x2024, 0x2024, "."],
  [0xfe52, 0xfe52, "."],
  [0x066b, 0x066b, "."],
  [0x066c, 0x066c, ","],
  [0x060c, 0x060c, ","],
  [0xfe6b, 0xfe6b, "@"],
  // The two letters beyond ASCII whose other case is within it, so that no engine need know.
  [0x017f, 0x017f, "s"],
  [0x212a, 0x212a, "K"],
  [0x00ad, 0x00ad, ""],
  [0x061c, 0x061c, ""],
  [0x034f, 0x034f, ""],
  [0x180b, 0x180f, ""],
  [0x200b, 0x200f, ""],
  [0x202a, 0x202e, ""],
  [0x2060, 0x2064, ""],
  [0x2066, 0x206f, ""],
  [0xfe00, 0xfe0f, ""],
  [0xfeff, 0xfeff, ""],
  [0xe0000, 0xe007f, ""],
  [0xe0100, 0xe01ef, ""],
];

export const KEPT = 0;
export const DROPPED = 0xffff;

/** For each UTF-16 unit: what stands for it in a view, or one of the two words above. */
export const FOLDED_UNITS = new Uint16Array(0x10000);

const FOLDED_BEYOND = new Map<number, number>();

/** Code points that a view has otherwise; built from the same ranges. */
export const FOLDS = new RegExp(`[${classOf()}]`, "u");

/** `KEPT`, `DROPPED` or the unit that stands for a code point. */
export function foldOf(codePoint: number): number {
  return codePoint < 0x10000 ? FOLDED_UNITS[codePoint]! : (FOLDED_BEYOND.get(codePoint) ?? KEPT);
}

function classOf(): string {
  const parts: string[] = [];
  const fold = (codePoint: number, unit: number) => {
    if (codePoint < 0x10000) FOLDED_UNITS[codePoint] = unit;
    else FOLDED_BEYOND.set(codePoint, unit);
  };
  const range = (first: number, last: number) => {
    parts.push(`\\u{${first.toString(16)}}-\\u{${last.toString(16)}}`);
  };
  for (let codePoint = 0xff01; codePoint <= 0xff5e; codePoint++) fold(codePoint, codePoint - 0xff01 + 0x21);
  range(0xff01, 0xff5e);
  for (const first of DIGIT_BLOCKS) {
    for (let digit = 0; digit < 10; digit++) fold(first + digit, 0x30 + digit);
    range(first, first + 9);
  }
  for (const [first, last, to] of FOLDED) {
    for (let codePoint = first; codePoint <= last; codePoint++) fold(codePoint, to === "" ? DROPPED : to.charCodeAt(0));
    range(first, last);
  }
  return parts.join("");
}
