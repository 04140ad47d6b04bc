/** Check characters over letters and digits. Values are upper case without separators. Source: guardrails reference, 1.4. */

import { remainder } from "./numerals.ts";

/** Returns 0 to 35 for `0` to `9` and `A` to `Z`, and -1 for anything else. */
export function base36At(value: string, index: number): number {
  const code = value.charCodeAt(index);
  if (code >= 48 && code <= 57) {
    return code - 48;
  }
  return code >= 65 && code <= 90 ? code - 55 : -1;
}

export function isBase36(value: string): boolean {
  return /^[0-9A-Z]+$/.test(value);
}

/**
 * Validates an IBAN checksum: MOD 97-10 over letters as numbers 10 to 35, with the first four characters moved to the end.
 * Source: ISO 13616-1.
 */
export function isIbanSum(value: string): boolean {
  if (!isBase36(value) || value.length < 5) {
    return false;
  }
  let numeral = "";
  for (let index = 0; index < value.length; index += 1) {
    numeral += String(base36At(value, (index + 4) % value.length));
  }
  return remainder(numeral, 97) === 1;
}

/**
 * Validates the weights 7, 3, 1 of machine-readable travel documents over all but the last character. Source: ICAO 9303-3, 4.9.
 */
export function isIcao(value: string): boolean {
  if (!isBase36(value)) {
    return false;
  }
  let sum = 0;
  for (let index = 0; index < value.length - 1; index += 1) {
    sum += base36At(value, index) * ([7, 3, 1][index % 3] as number);
  }
  return sum % 10 === base36At(value, value.length - 1);
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const CRC_TABLE = Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) {
    crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return crc >>> 0;
});

/** Returns the CRC-32 of IEEE 802.3 over ASCII, from 0 to 2^32 - 1. */
export function crc32(value: string): number {
  let crc = 0xffffffff;
  for (let index = 0; index < value.length; index += 1) {
    crc = (CRC_TABLE[(crc ^ value.charCodeAt(index)) & 0xff] as number) ^ (crc >>> 8);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** Returns whether the last `length` characters are the CRC-32 of those before them, in base 62 padded with `0`. */
export function isCrc32Base62(value: string, length = 6): boolean {
  let rest = crc32(value.slice(0, -length));
  let sum = "";
  while (rest > 0) {
    sum = BASE62.charAt(rest % 62) + sum;
    rest = Math.floor(rest / 62);
  }
  return value.length > length && value.slice(-length) === sum.padStart(length, "0");
}
