/** Addresses of cryptocurrencies that contain a checksum. */

import { createHash } from "node:crypto";

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/** Maximum length of a Base58 text that is decoded. An address has 25 bytes, so a longer text is not one. */
const MAX_BASE58 = 64;

/** Returns the version byte of a Base58Check value of 25 bytes whose double SHA-256 matches, otherwise `undefined`. */
export function base58CheckVersion(value: string): number | undefined {
  if (value.length > MAX_BASE58) {
    return undefined;
  }
  let number = 0n;
  for (const character of value) {
    const digit = BASE58.indexOf(character);
    if (digit < 0) {
      return undefined;
    }
    number = number * 58n + BigInt(digit);
  }
  const hex = number.toString(16).padStart(50, "0");
  const zeros = /^1*/.exec(value)?.[0].length ?? 0;
  const leading = /^(?:00)*/.exec(hex)?.[0].length ?? 0;
  if (hex.length !== 50 || leading / 2 !== zeros) {
    return undefined;
  }
  const bytes = Buffer.from(hex, "hex");
  const sum = sha256(sha256(bytes.subarray(0, 21)));
  return sum.subarray(0, 4).equals(bytes.subarray(21)) ? bytes[0] : undefined;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

const BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const GENERATORS = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
const BECH32M = 0x2bc830a3;

/** Validates a segregated witness address: Bech32 for witness version 0, Bech32m above. Source: BIP 173, BIP 350. */
export function isBech32(value: string): boolean {
  const lower = value.toLowerCase();
  if (value.length > 90 || (lower !== value && value.toUpperCase() !== value)) {
    return false;
  }
  const separator = lower.lastIndexOf("1");
  const data = Array.from(lower.slice(separator + 1), (character) => BECH32.indexOf(character));
  const version = data[0];
  if (separator < 1 || data.length < 7 || version === undefined || version > 16 || data.includes(-1)) {
    return false;
  }
  const prefix = Array.from(lower.slice(0, separator), (character) => character.charCodeAt(0));
  const values = [...prefix.map((code) => code >> 5), 0, ...prefix.map((code) => code & 31), ...data];
  return polymod(values) === (version === 0 ? 1 : BECH32M);
}

function polymod(values: readonly number[]): number {
  let sum = 1;
  for (const value of values) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    GENERATORS.forEach((generator, bit) => {
      if ((top >>> bit) & 1) {
        sum ^= generator;
      }
    });
  }
  return sum;
}
