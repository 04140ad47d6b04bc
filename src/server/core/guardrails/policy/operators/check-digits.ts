/**
 * Check digits of types whose last digit follows from the rest, for format-preserving encryption: the digit that is written
 * is always wrong by five, so that an encrypted value is told from a genuine one. Source: guardrails reference, 4.3.
 */

/** From the digits before it, as ASCII text, the check digit from 0 to 9. */
export type CheckDigit = (body: string) => number;

const luhn: CheckDigit = (body) => {
  let sum = 0;
  for (let at = body.length - 1, doubles = true; at >= 0; at -= 1, doubles = !doubles) {
    const digit = Number(body[at]) * (doubles ? 2 : 1);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return (10 - (sum % 10)) % 10;
};

const ROUTING_WEIGHTS = [3, 7, 1];

const routing: CheckDigit = (body) => {
  const sum = [...body].reduce((total, digit, at) => total + Number(digit) * (ROUTING_WEIGHTS[at % 3] ?? 0), 0);
  return (10 - (sum % 10)) % 10;
};

/** Multiplication of the dihedral group of ten elements: turns below five, mirrored turns above. */
function dihedral(left: number, right: number): number {
  const turn = left < 5 ? right : -right;
  const sum = ((((left % 5) + turn) % 5) + 5) % 5;
  return left < 5 === right < 5 ? sum : sum + 5;
}

const PERMUTATION = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];

function permuted(digit: number, times: number): number {
  let result = digit;
  for (let count = 0; count < times % 8; count += 1) result = PERMUTATION[result] ?? 0;
  return result;
}

const inverse = (element: number): number => (element > 0 && element < 5 ? 5 - element : element);

const verhoeff: CheckDigit = (body) => {
  let sum = 0;
  for (let place = 1; place <= body.length; place += 1) {
    sum = dihedral(sum, permuted(Number(body[body.length - place]), place));
  }
  return inverse(sum);
};

export const CHECK_DIGITS: ReadonlyMap<string, CheckDigit> = new Map<string, CheckDigit>([
  ["CREDIT_CARD", luhn],
  // Of the number with the prefix that health cards bear.
  ["US_NPI", (body) => luhn(`80840${body}`)],
  ["CA_SIN", luhn],
  ["ABA_ROUTING_NUMBER", routing],
  ["IN_AADHAAR", verhoeff],
  ["SA_NATIONAL_ID", luhn],
  ["AE_EMIRATES_ID", luhn],
  ["ZA_ID_NUMBER", luhn],
  // The century of the long form takes no part.
  ["SE_PERSONNUMMER", (body) => luhn(body.slice(-9))],
]);
