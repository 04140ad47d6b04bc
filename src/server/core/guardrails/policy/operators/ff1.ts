/**
 * FF1, format-preserving encryption: a permutation of all texts of one length over one alphabet. Source: NIST SP 800-38G,
 * algorithms 7 and 8. Encryption requires `MIN_DOMAIN` texts, as in the drafts of revision 1; the 2016 edition, on which test
 * vectors are based, requires 100.
 */

import { type Cipher, createCipheriv } from "node:crypto";

/** Minimum number of texts of a permutation; a smaller one could be found by trying all values. */
export const MIN_DOMAIN = 1_000_000;

const FLOOR = 100;
const ROUNDS = 10;
const BLOCK = 16;

/**
 * Cipher in both directions. Numerals are from 0 to the radix, exclusive, the most significant first. Throws on invalid input.
 */
export interface Ff1 {
  readonly encrypt: (numerals: readonly number[], radix: number, tweak: Uint8Array) => number[];
  readonly decrypt: (numerals: readonly number[], radix: number, tweak: Uint8Array) => number[];
}

/** Creates the cipher. `key` is 16, 24 or 32 bytes long. An instance has mutable state and must be used in one thread only. */
export function createFf1(key: Uint8Array): Ff1 {
  // Blocks are independent in ECB, so one cipher serves every call; chaining for the MAC is done here.
  const cipher = createCipheriv(`aes-${key.length * 8}-ecb`, key, null);
  cipher.setAutoPadding(false);
  return {
    encrypt: (numerals, radix, tweak) => feistel(cipher, numerals, radix, tweak, true),
    decrypt: (numerals, radix, tweak) => feistel(cipher, numerals, radix, tweak, false),
  };
}

function feistel(
  cipher: Cipher,
  numerals: readonly number[],
  radix: number,
  tweak: Uint8Array,
  isForward: boolean,
): number[] {
  refuseOutside(numerals, radix);
  const n = numerals.length;
  const u = n >> 1;
  const v = n - u;
  const base = BigInt(radix);
  const moduli = [base ** BigInt(u), base ** BigInt(v)] as const;
  const numberBytes = byteLength(moduli[1] - 1n);
  const streamBytes = 4 * Math.ceil(numberBytes / 4) + 4;
  const padding = (BLOCK - ((tweak.length + numberBytes + 1) % BLOCK)) % BLOCK;
  const input = Buffer.alloc(BLOCK + tweak.length + padding + 1 + numberBytes);
  header(input, radix, u, n, tweak.length);
  input.set(tweak, BLOCK);
  const roundAt = input.length - numberBytes - 1;
  // All blocks before the block with the round number are the same in all ten rounds.
  const changesAt = roundAt - (roundAt % BLOCK);
  const before = mac(cipher, Buffer.alloc(BLOCK), input.subarray(0, changesAt));
  const changing = input.subarray(changesAt);

  let a = numberOf(numerals.slice(0, u), radix);
  let b = numberOf(numerals.slice(u), radix);
  for (let step = 0; step < ROUNDS; step += 1) {
    const round = isForward ? step : ROUNDS - 1 - step;
    const modulus = moduli[round % 2 === 0 ? 0 : 1];
    input[roundAt] = round;
    writeNumber(input, isForward ? b : a, roundAt + 1, numberBytes);
    const y = keyStream(cipher, mac(cipher, before, changing), streamBytes);
    if (isForward) {
      const c = (a + y) % modulus;
      a = b;
      b = c;
    } else {
      const c = (((b - y) % modulus) + modulus) % modulus;
      b = a;
      a = c;
    }
  }
  return [...numeralsOf(a, radix, u), ...numeralsOf(b, radix, v)];
}

function refuseOutside(numerals: readonly number[], radix: number): void {
  if (!Number.isInteger(radix) || radix < 2 || radix > 65_536) throw new RangeError(`radix ${radix}`);
  if (numerals.length < 2 || radix ** numerals.length < FLOOR) {
    throw new RangeError(`fewer than ${FLOOR} texts have this length`);
  }
  if (numerals.some((numeral) => !Number.isInteger(numeral) || numeral < 0 || numeral >= radix)) {
    throw new RangeError("a numeral is outside the radix");
  }
}

const byteLength = (value: bigint): number => Math.ceil(value.toString(16).length / 2);

/** Writes block `P`: version, method, radix, rounds, length of the left half, lengths of text and tweak. */
function header(into: Buffer, radix: number, u: number, n: number, tweakLength: number): void {
  into.set([1, 2, 1]);
  into.writeUIntBE(radix, 3, 3);
  into.set([ROUNDS, u % 256], 6);
  into.writeUInt32BE(n, 8);
  into.writeUInt32BE(tweakLength, 12);
}

const scratch = Buffer.alloc(BLOCK);

/** Returns the CBC-MAC of whole blocks, continued from `state`. */
function mac(cipher: Cipher, state: Buffer, input: Buffer): Buffer {
  let last = state;
  for (let at = 0; at < input.length; at += BLOCK) {
    for (let i = 0; i < BLOCK; i += 1) scratch[i] = (last[i] ?? 0) ^ (input[at + i] ?? 0);
    last = cipher.update(scratch);
  }
  return last;
}

/** Returns a MAC expanded to `bytes`, as a number. */
function keyStream(cipher: Cipher, first: Buffer, bytes: number): bigint {
  if (bytes === 8) return first.readBigUInt64BE();
  const blocks = [first];
  for (let count = 1; blocks.length * BLOCK < bytes; count += 1) {
    const block = Buffer.from(first);
    block.writeUInt32BE((block.readUInt32BE(12) ^ count) >>> 0, 12);
    blocks.push(cipher.update(block));
  }
  return BigInt(`0x${Buffer.concat(blocks).subarray(0, bytes).toString("hex")}`);
}

/** Maximum number of bytes that `writeUIntBE` can write. */
const MAX_NUMBER_BYTES = 6;

function writeNumber(into: Buffer, value: bigint, at: number, bytes: number): void {
  if (bytes <= MAX_NUMBER_BYTES) {
    into.writeUIntBE(Number(value), at, bytes);
    return;
  }
  into.write(value.toString(16).padStart(bytes * 2, "0"), at, bytes, "hex");
}

/** Returns whether all texts of this length are numbers that a double represents exactly. */
const isSmall = (radix: number, length: number): boolean => radix ** length < Number.MAX_SAFE_INTEGER;

function numberOf(numerals: readonly number[], radix: number): bigint {
  if (isSmall(radix, numerals.length)) return BigInt(numerals.reduce((sum, numeral) => sum * radix + numeral, 0));
  const base = BigInt(radix);
  return numerals.reduce((sum, numeral) => sum * base + BigInt(numeral), 0n);
}

function numeralsOf(value: bigint, radix: number, length: number): number[] {
  const numerals = new Array<number>(length);
  if (isSmall(radix, length)) {
    let small = Number(value);
    for (let at = length - 1; at >= 0; at -= 1) {
      numerals[at] = small % radix;
      small = Math.floor(small / radix);
    }
    return numerals;
  }
  const base = BigInt(radix);
  let rest = value;
  for (let at = length - 1; at >= 0; at -= 1) {
    numerals[at] = Number(rest % base);
    rest /= base;
  }
  return numerals;
}
