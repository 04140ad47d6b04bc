/**
 * Check digits for format-preserving encryption: the written digit is always wrong by five, so that an encrypted value can be
 * distinguished from a genuine one. Source: guardrails reference, 4.3.
 */

import { isLuhn, isVerhoeff, isWeighted } from "../../index.ts";

/** Returns the check digit, 0 to 9, for the digits before it, as ASCII text. */
export type CheckDigit = (body: string) => number;

const DIGITS = [..."0123456789"];

/** Schemes with exactly one check digit per body. */
const digitThat =
  (isRight: (value: string) => boolean): CheckDigit =>
  (body) =>
    DIGITS.findIndex((digit) => isRight(body + digit));

const luhn = digitThat(isLuhn);

export const CHECK_DIGITS: ReadonlyMap<string, CheckDigit> = new Map<string, CheckDigit>([
  ["CREDIT_CARD", luhn],
  // Computed over the number with the prefix of health cards.
  ["US_NPI", (body) => luhn(`80840${body}`)],
  ["CA_SIN", luhn],
  [
    "ABA_ROUTING_NUMBER",
    digitThat((value) =>
      isWeighted(
        value,
        [...value].map((_, at) => [3, 7, 1][at % 3] ?? 0),
        10,
      ),
    ),
  ],
  ["IN_AADHAAR", digitThat(isVerhoeff)],
  ["SA_NATIONAL_ID", luhn],
  ["AE_EMIRATES_ID", luhn],
  ["ZA_ID_NUMBER", luhn],
  // The century of the long form is not included.
  ["SE_PERSONNUMMER", (body) => luhn(body.slice(-9))],
]);
