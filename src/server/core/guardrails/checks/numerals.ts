/** Check digits over decimal numerals. Each function takes the whole value without separators. Source: guardrails reference, 1.4. */

/** Returns the value of the digit at `index`. Callers must ensure that it is an ASCII digit. */
export function digitAt(value: string, index: number): number {
  return value.charCodeAt(index) - 48;
}

export function isDigits(value: string): boolean {
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code < 48 || code > 57) {
      return false;
    }
  }
  return value !== "";
}

/** Returns whether all characters are equal. */
export function isRepeated(value: string): boolean {
  for (let index = 1; index < value.length; index += 1) {
    if (value.charCodeAt(index) !== value.charCodeAt(0)) {
      return false;
    }
  }
  return true;
}

/** Returns the sum of digit times weight over as many digits as there are weights, from `start`. */
export function weightedSum(value: string, weights: readonly number[], start = 0): number {
  let sum = 0;
  for (let index = 0; index < weights.length; index += 1) {
    sum += digitAt(value, start + index) * (weights[index] as number);
  }
  return sum;
}

/** Returns whether the weighted sum of the digits is a multiple of `modulus`; there is one weight for each digit. */
export function isWeighted(value: string, weights: readonly number[], modulus: number): boolean {
  return value.length === weights.length && isDigits(value) && weightedSum(value, weights) % modulus === 0;
}

/** Validates Luhn's sum modulo 10. Source: ISO/IEC 7812-1, annex B. */
export function isLuhn(value: string): boolean {
  return isDigits(value) && luhnSum(value) % 10 === 0;
}

function luhnSum(value: string): number {
  let sum = 0;
  let isDoubled = false;
  for (let index = value.length - 1; index >= 0; index -= 1) {
    const digit = digitAt(value, index);
    const twice = digit * 2;
    sum += isDoubled ? twice - (twice > 9 ? 9 : 0) : digit;
    isDoubled = !isDoubled;
  }
  return sum;
}

const DIHEDRAL = [
  "0123456789",
  "1234067895",
  "2340178956",
  "3401289567",
  "4012395678",
  "5987604321",
  "6598710432",
  "7659821043",
  "8765932104",
  "9876543210",
];
const PERMUTATION = [
  "0123456789",
  "1576283094",
  "5803796142",
  "8916043527",
  "9453126870",
  "4286573901",
  "2793806415",
  "7046913258",
];

/** Validates Verhoeff's scheme over the dihedral group of order 10; the check digit is the last. */
export function isVerhoeff(value: string): boolean {
  if (!isDigits(value)) {
    return false;
  }
  let check = 0;
  for (let index = 0; index < value.length; index += 1) {
    const row = PERMUTATION[index % 8] as string;
    const permuted = digitAt(row, digitAt(value, value.length - 1 - index));
    check = digitAt(DIHEDRAL[check] as string, permuted);
  }
  return check === 0;
}

/** Validates ISO/IEC 7064 MOD 11,10. */
export function isMod11And10(value: string): boolean {
  if (!isDigits(value)) {
    return false;
  }
  let product = 10;
  for (let index = 0; index < value.length - 1; index += 1) {
    const sum = (digitAt(value, index) + product) % 10;
    product = ((sum === 0 ? 10 : sum) * 2) % 11;
  }
  return (11 - product) % 10 === digitAt(value, value.length - 1);
}

/** Returns the remainder of a decimal numeral of any length. */
export function remainder(value: string, modulus: number): number {
  let rest = 0;
  for (let index = 0; index < value.length; index += 1) {
    rest = (rest * 10 + digitAt(value, index)) % modulus;
  }
  return rest;
}

/** Returns the sum of the digits of all products of digit and weight, as used for card and insurance numbers. */
export function digitSum(value: string, weights: readonly number[]): number {
  let sum = 0;
  for (let index = 0; index < weights.length; index += 1) {
    const product = digitAt(value, index) * (weights[index] as number);
    sum += Math.floor(product / 10) + (product % 10);
  }
  return sum;
}
