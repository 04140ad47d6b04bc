/** Texts that are hard to draw, for property tests. */

import fc from "fast-check";
import type { Line, Span } from "../../../src/console/model/text.ts";

const HARD = [
  "漢",
  "字",
  "ｆ",
  "🚀",
  "👩‍👩‍👧",
  "🇩🇪",
  "é",
  "e\u0301",
  "क्षि",
  "한",
  "\u200d",
  "\u202e",
  "\x1b[2J",
  "\n",
  "\t",
  "…",
  "│",
  "a",
  " ",
  "0",
];

export const HARD_TEXT = fc
  .array(fc.constantFrom(...HARD, "name", "long-word-", "12,345"), { maxLength: 12 })
  .map((parts) => parts.join(""));

const TONES = ["plain", "strong", "dim", "warn", "fail", "off", "changed"] as const;

const SPANS: fc.Arbitrary<Span> = fc.record({
  text: HARD_TEXT,
  tone: fc.constantFrom(...TONES),
  isInverse: fc.boolean(),
});

export const LINES: fc.Arbitrary<Line> = fc.array(SPANS, { maxLength: 4 });
