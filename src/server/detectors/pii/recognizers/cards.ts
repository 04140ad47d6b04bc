/** Recognizer of CREDIT_CARD. Source: guardrails reference, 1.2 and 1.5. */

import { isLuhn, isRepeated } from "../../../core/guardrails/index.ts";
import type { Proof, Recognizer } from "../types.ts";

/** Ranges of first digits, with the minimum and maximum length. */
const RANGES: readonly (readonly [from: string, to: string, shortest: number, longest: number])[] = [
  ["4", "4", 13, 13],
  ["4", "4", 16, 16],
  ["4", "4", 19, 19],
  ["51", "55", 16, 16],
  ["2221", "2720", 16, 16],
  ["34", "34", 15, 15],
  ["37", "37", 15, 15],
  ["6011", "6011", 16, 19],
  ["644", "649", 16, 19],
  ["65", "65", 16, 19],
  ["300", "305", 14, 19],
  ["36", "36", 14, 19],
  ["38", "39", 14, 19],
  ["3528", "3589", 16, 19],
  ["1800", "1800", 15, 15],
  ["2131", "2131", 15, 15],
  ["62", "62", 16, 19],
  ["50", "50", 13, 19],
  ["56", "58", 13, 19],
  ["60", "69", 13, 19],
  ["2200", "2204", 16, 19],
  ["81", "82", 16, 16],
  ["508", "508", 16, 16],
];

/**
 * Checks a card number. One outside of every known range counts only by its check digit, and only if it begins like a
 * card number.
 */
function cardProof(value: string): Proof {
  if (!isLuhn(value) || isRepeated(value)) return false;
  const isKnown = RANGES.some(([from, to, shortest, longest]) => {
    const start = value.slice(0, from.length);
    return start >= from && start <= to && value.length >= shortest && value.length <= longest;
  });
  if (isKnown) return true;
  return /^[13456]/.test(value) && !/^1\d{12}$/.test(value) ? undefined : false;
}

function shapes(): string[] {
  const found: string[] = [];
  for (let length = 12; length <= 19; length++) found.push(`d${length}`);
  for (const second of [3, 4]) {
    for (const third of [3, 4]) for (const last of [3, 4, 5]) found.push(`d4-d${second}-d${third}-d${last}`);
  }
  for (const last of [1, 2, 3]) found.push(`d4-d4-d4-d4-d${last}`);
  found.push("d4-d6-d5", "d4-d6-d4", "d4-d4-d4-d1", "d4-d12", "d8-d8", "d12-d4", "d4-d8-d4", "d4-d4-d8", "d8-d4-d4");
  return found;
}

/**
 * Digits with at most one space or hyphen between them, or a line break or tab with at most one space or hyphen on
 * either side.
 */
const BROKEN = /(?<![0-9])[0-9](?:[ -]?[\t-\r]{0,2}[ -]?[0-9])+/g;
const HAS_BREAK = /[0-9 -][\t-\r][\t-\r]?[ -]?[0-9]/;

/**
 * Finds numbers that continue after a line break or a tab and have nothing else around: in a column of numbers too many
 * would match by chance.
 */
function searchBroken(text: string, found: (start: number, end: number, proof: Proof) => void): void {
  if (!HAS_BREAK.test(text)) return;
  for (const { index, 0: written } of text.matchAll(BROKEN)) {
    if (!/[\t-\r]/.test(written)) continue;
    const value = written.replace(/[^0-9]/g, "");
    if (value.length < 13 || value.length > 19) continue;
    const proof = cardProof(value);
    found(index, index + written.length, proof === true);
  }
}

export const CARDS: Recognizer = {
  name: "CreditCardRecognizer",
  entity: "CREDIT_CARD",
  category: "pii",
  patterns: [
    { kind: "shape", name: "card", score: 0.3, shapes: shapes(), validate: cardProof },
    {
      kind: "search",
      name: "broken",
      score: 0.3,
      keywords: [],
      containingRegex: "[0-9](?:[ -]?[\\t-\\r]{0,2}[ -]?[0-9]){12,18}",
      search: searchBroken,
    },
  ],
  context:
    "credit card visa mastercard cc amex discover jcb diners maestro instapayment tarjeta credito kreditkarte carte بطاقة".split(
      " ",
    ),
};
