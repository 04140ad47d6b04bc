/** Check digits of identity and company numbers of Asia, Africa and Oceania. Source: guardrails reference, 1.4. */

import { isDate, isShortDate } from "./identity-dates.ts";
import { base36At, isBase36 } from "./letters.ts";
import { digitAt, isDigits, isLuhn, isRepeated, isVerhoeff, isWeighted, weightedSum } from "./numerals.ts";

/** Validates an Australian Business Number. */
export function isAbn(value: string): boolean {
  const weights = [10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19];
  return value.length === 11 && isDigits(value) && (weightedSum(value, weights) - 10) % 89 === 0;
}

/** Validates an Australian Company Number. */
export function isAcn(value: string): boolean {
  return isWeighted(value, [8, 7, 6, 5, 4, 3, 2, 1, 1], 10) && !isRepeated(value);
}

/** Validates a tax file number of nine digits. */
export function isTfn(value: string): boolean {
  return isWeighted(value, [1, 4, 3, 7, 5, 8, 6, 9, 10], 11) && !isRepeated(value);
}

/** Validates a Medicare card number; the tenth digit is the issue number. */
export function isAuMedicare(value: string): boolean {
  return /^[2-6]\d{9}$/.test(value) && weightedSum(value, [1, 3, 7, 9, 1, 3, 7, 9]) % 10 === digitAt(value, 8);
}

export function isAadhaar(value: string): boolean {
  const isPalindrome = value.slice(0, 6) === [...value.slice(6)].reverse().join("");
  return /^[2-9]\d{11}$/.test(value) && !isPalindrome && isVerhoeff(value);
}

/** Validates a goods and services tax number: state, PAN, entity, Z, check character. */
export function isGstin(value: string): boolean {
  if (value.length !== 15 || !isBase36(value)) {
    return false;
  }
  let sum = 0;
  for (let index = 0; index < 14; index += 1) {
    const product = base36At(value, index) * ((index % 2) + 1);
    sum += Math.floor(product / 36) + (product % 36);
  }
  return (36 - (sum % 36)) % 36 === base36At(value, 14);
}

const NRIC_LETTERS: Readonly<Record<string, readonly [letters: string, offset: number]>> = {
  S: ["JZIHGFEDCBA", 0],
  T: ["JZIHGFEDCBA", 4],
  F: ["XWUTRQPNMLK", 0],
  G: ["XWUTRQPNMLK", 4],
  M: ["XWUTRQPNJLK", 3],
};

/** Validates an NRIC or FIN of Singapore. The scheme is not published; series M is the least certain. */
export function isNric(value: string): boolean {
  const series = NRIC_LETTERS[value.charAt(0)];
  if (series === undefined || !/^.\d{7}[A-Z]$/.test(value)) {
    return false;
  }
  const sum = weightedSum(value, [2, 7, 6, 5, 4, 3, 2], 1) + series[1];
  return series[0][sum % 11] === value[8];
}

const UEN_C = "ABCDEFGHJKLMNPQRSTUVWX0123456789";
const UEN_ENTITIES = new Set(
  "LP LL FC PF RF MQ MM NB CC CS MB FM GS DP CP NR CM CD MD HS VH CH MH CL XL CX HC RP TU TC FB FN PA PB SS MC SM GA GB".split(
    " ",
  ),
);

/** Validates a Unique Entity Number of Singapore in its three forms. */
export function isUen(value: string): boolean {
  if (/^\d{8}[A-Z]$/.test(value)) {
    return "XMKECAWLJDB"[weightedSum(value, [10, 4, 9, 3, 8, 2, 7, 1]) % 11] === value[8];
  }
  if (/^(?:18|19|20)\d{7}[A-Z]$/.test(value)) {
    return "ZKCMDNERGWH"[weightedSum(value, [10, 8, 6, 4, 9, 7, 5, 3, 1]) % 11] === value[9];
  }
  if (!/^[TSR]\d\d[A-Z]{2}\d{4}[A-Z]$/.test(value) || !UEN_ENTITIES.has(value.slice(3, 5))) {
    return false;
  }
  let sum = 0;
  for (let index = 0; index < 9; index += 1) {
    sum += UEN_C.indexOf(value.charAt(index)) * ([4, 3, 5, 3, 10, 2, 2, 5, 7][index] as number);
  }
  return UEN_C[(((sum - 5) % 11) + 11) % 11] === value[9];
}

const RRN_WEIGHTS = [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5];

/** Validates a resident registration number of Korea. A number issued since October 2020 need not have a valid check digit. */
export function isRrn(value: string): boolean {
  return isKoreanNumber(value, 11);
}

/** Validates a foreigner registration number of Korea. */
export function isFrn(value: string): boolean {
  return isKoreanNumber(value, 13);
}

function isKoreanNumber(value: string, from: number): boolean {
  return (
    value.length === 13 &&
    isDigits(value) &&
    (from - (weightedSum(value, RRN_WEIGHTS) % 11)) % 10 === digitAt(value, 12)
  );
}

/** Validates a business registration number of Korea. */
export function isKoreanBrn(value: string): boolean {
  if (value.length !== 10 || !isDigits(value) || isRepeated(value)) {
    return false;
  }
  const sum = weightedSum(value, [1, 3, 7, 1, 3, 7, 1, 3, 5]) + Math.floor((digitAt(value, 8) * 5) / 10);
  return (10 - (sum % 10)) % 10 === digitAt(value, 9);
}

/** Validates a Thai national identity number. */
export function isThaiId(value: string): boolean {
  const weights = [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2];
  return (
    /^[1-9]\d{12}$/.test(value) &&
    !isRepeated(value) &&
    (11 - (weightedSum(value, weights) % 11)) % 10 === digitAt(value, 12)
  );
}

/**
 * Validates a Philippine tax number of 9 digits, or 12 with a branch. The ninth digit is a check digit, from the weights 9 to 2
 * modulo 11.
 */
export function isPhTin(value: string): boolean {
  const isLength = value.length === 9 || value.length === 12;
  return isLength && isDigits(value) && weightedSum(value, [9, 8, 7, 6, 5, 4, 3, 2]) % 11 === digitAt(value, 8);
}

/** Validates a South African identity number: date of birth, serial, citizenship, check digit. */
export function isZaId(value: string): boolean {
  return (
    /^\d{10}[012][89]\d$/.test(value) &&
    isShortDate(Number(value.slice(0, 2)), Number(value.slice(2, 4)), Number(value.slice(4, 6))) &&
    isLuhn(value)
  );
}

/** Validates a Saudi national identity (1) or residence (2) number. */
export function isSaudiId(value: string): boolean {
  return /^[12]\d{9}$/.test(value) && !isRepeated(value.slice(1)) && isLuhn(value);
}

/** Validates an Emirates ID: 784, year of birth, serial, check digit. */
export function isEmiratesId(value: string): boolean {
  return /^784(?:19|20)\d{10}$/.test(value) && isLuhn(value);
}

/** Validates a Kuwaiti civil number: century, date of birth, serial, check digit. */
export function isKuwaitId(value: string): boolean {
  if (!/^[123]\d{11}$/.test(value)) {
    return false;
  }
  const year = 1700 + 100 * digitAt(value, 0) + Number(value.slice(1, 3));
  const check = 11 - (weightedSum(value, [2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11);
  return isDate(year, Number(value.slice(3, 5)), Number(value.slice(5, 7))) && check === digitAt(value, 11);
}
