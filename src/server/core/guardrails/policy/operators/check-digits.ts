/**
 * Check digits for format-preserving encryption. The written digit is always wrong by five, so that an encrypted value can be
 * distinguished from a genuine one. Source: guardrails reference, 4.3.
 */

import { isLuhn, isVerhoeff, isWeighted } from "../../index.ts";

/** Computes the check digit, 0 to 9, for the preceding digits, given as ASCII text. */
export type CheckDigit = (body: string) => number;

const DIGITS = [..."0123456789"];

/** Creates a scheme that has exactly one valid check digit per body. */
const checkDigitWhere =
  (isRight: (value: string) => boolean): CheckDigit =>
  (body) =>
    DIGITS.findIndex((digit) => isRight(body + digit));

const luhn = checkDigitWhere(isLuhn);

export const CHECK_DIGITS: ReadonlyMap<string, CheckDigit> = new Map<string, CheckDigit>([
  ["CREDIT_CARD", luhn],
  // The check digit covers the prefix of health cards too.
  ["US_NPI", (body) => luhn(`80840${body}`)],
  ["CA_SIN", luhn],
  [
    "ABA_ROUTING_NUMBER",
    checkDigitWhere((value) =>
      isWeighted(
        value,
        [...value].map((_, at) => [3, 7, 1][at % 3] ?? 0),
        10,
      ),
    ),
  ],
  ["IN_AADHAAR", checkDigitWhere(isVerhoeff)],
  ["SA_NATIONAL_ID", luhn],
  ["AE_EMIRATES_ID", luhn],
  ["ZA_ID_NUMBER", luhn],
  // The check digit does not cover the century of the long form.
  ["SE_PERSONNUMMER", (body) => luhn(body.slice(-9))],
]);
