/** Check digits of identity numbers of the Americas. Source: guardrails reference, 1.4. */

import { digitAt, isDigits, isLuhn, isRepeated, isWeighted, weightedSum } from "./numerals.ts";

/** Validates a National Provider Identifier: Luhn with the issuer prefix 80840. */
export function isNpi(value: string): boolean {
  return value.length === 10 && !isRepeated(value.slice(1)) && isLuhn(`80840${value}`);
}

/** Validates a registration number of the Drug Enforcement Administration. */
export function isDea(value: string): boolean {
  const digits = value.slice(2);
  if (digits.length !== 7 || !isDigits(digits)) {
    return false;
  }
  return weightedSum(digits, [1, 2, 1, 2, 1, 2]) % 10 === digitAt(digits, 6);
}

/** Validates a routing transit number of the American Bankers Association. */
export function isAbaRouting(value: string): boolean {
  return isWeighted(value, [3, 7, 1, 3, 7, 1, 3, 7, 1], 10) && !isRepeated(value);
}

/** Validates a Cadastro de Pessoas Físicas. */
export function isCpf(value: string): boolean {
  if (value.length !== 11 || !isDigits(value) || isRepeated(value)) {
    return false;
  }
  const first = elevenMinus(weightedSum(value, [10, 9, 8, 7, 6, 5, 4, 3, 2]));
  const second = elevenMinus(weightedSum(value, [11, 10, 9, 8, 7, 6, 5, 4, 3, 2]));
  return first === digitAt(value, 9) && second === digitAt(value, 10);
}

const CNPJ_WEIGHTS = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];

/**
 * Validates a Cadastro Nacional da Pessoa Jurídica. The first twelve characters may be letters, whose value is their code minus
 * 48.
 */
export function isCnpj(value: string): boolean {
  if (!/^[0-9A-Z]{12}[0-9]{2}$/.test(value) || isRepeated(value)) {
    return false;
  }
  const first = elevenMinus(weightedSum(value, CNPJ_WEIGHTS.slice(1)));
  const second = elevenMinus(weightedSum(value, CNPJ_WEIGHTS));
  return first === digitAt(value, 12) && second === digitAt(value, 13);
}

function elevenMinus(sum: number): number {
  const check = 11 - (sum % 11);
  return check > 9 ? 0 : check;
}
