/**
 * Format-preserving encryption of values in texts: symbols of an alphabet change, in order and as one, everything else
 * stays: separators, length, the script of digits. Source: guardrails reference, 4.3.
 */

import { digitBlock } from "../../index.ts";
import { ALPHABETS, type AlphabetName } from "./alphabets.ts";
import { callingCodeLength } from "./calling-codes.ts";
import { CHECK_DIGITS, type CheckDigit } from "./check-digits.ts";
import { createFf1, type Ff1, MIN_DOMAIN } from "./ff1.ts";

/** How far an encrypted value's check digit is from the right one. */
const DISPLACEMENT = 5;

/** A value longer than this is no value of a format: one permutation costs with the square of its length. */
export const MAX_SYMBOLS = 256;

export interface Fpe {
  /** Undefined: too few texts have this format, or it is longer than `MAX_SYMBOLS`. */
  readonly encrypt: (type: string, alphabet: AlphabetName, text: string) => string | undefined;
  /** Undefined also where the check digit says that the text was not encrypted here. */
  readonly decrypt: (type: string, alphabet: AlphabetName, text: string) => string | undefined;
}

/** `key`: 16, 24 or 32 bytes. */
export function createFpe(key: Uint8Array, tweak: string): Fpe {
  const ff1 = createFf1(key);
  const turn =
    (isForward: boolean): Fpe["encrypt"] =>
    (type, alphabet, text) => {
      const value = parse(type, alphabet, text);
      const check = alphabet === "digits" ? CHECK_DIGITS.get(type) : undefined;
      const permute = permutation(ff1, ALPHABETS[alphabet].length, Buffer.from(`${tweak}\0${type}`), isForward);
      const changed =
        check === undefined ? permute(value.numerals) : displaced(value.numerals, check, permute, isForward);
      return changed && value.write(changed);
    };
  return { encrypt: turn(true), decrypt: turn(false) };
}

type Permute = (numerals: readonly number[]) => readonly number[] | undefined;

function permutation(ff1: Ff1, radix: number, tweak: Uint8Array, isForward: boolean): Permute {
  const turn = isForward ? ff1.encrypt : ff1.decrypt;
  return (numerals) =>
    numerals.length < 2 || numerals.length > MAX_SYMBOLS || radix ** numerals.length < MIN_DOMAIN
      ? undefined
      : turn(numerals, radix, tweak);
}

/**
 * All but the check digit is encrypted; how far the check digit was off stays, and five more. So it is a bijection, a
 * genuine value never becomes one, and what is off by five on the way back is known to come from a genuine one.
 */
function displaced(
  numerals: readonly number[],
  check: CheckDigit,
  permute: Permute,
  isForward: boolean,
): readonly number[] | undefined {
  const body = numerals.slice(0, -1);
  const last = numerals.at(-1);
  if (last === undefined) return undefined;
  const off = (last - check(body.join("")) + 10) % 10;
  if (!isForward && off !== DISPLACEMENT) return undefined;
  const changed = permute(body);
  return changed && [...changed, (check(changed.join("")) + off + DISPLACEMENT) % 10];
}

/** A text as symbols, and the way back into its form. */
interface Value {
  readonly numerals: readonly number[];
  readonly write: (numerals: readonly number[]) => string;
}

interface Position {
  readonly at: number;
  /** Where the block of the digit begins: `0` but for other scripts. */
  readonly block: number;
  readonly isLower: boolean;
}

const ZERO = 0x30;

function parse(type: string, name: AlphabetName, text: string): Value {
  const alphabet: string = ALPHABETS[name];
  const foldsCase = name === "upper" || name === "alnum_upper";
  const characters = [...text];
  const positions: Position[] = [];
  const numerals: number[] = [];
  for (const [at, character] of characters.entries()) {
    const codePoint = character.codePointAt(0) ?? 0;
    const block = digitBlock(codePoint);
    const symbol = block < 0 ? character : String(codePoint - block);
    const isLower = foldsCase && /^[a-z]$/.test(symbol);
    const numeral = alphabet.indexOf(isLower ? symbol.toUpperCase() : symbol);
    if (numeral < 0) continue;
    positions.push({ at, block: block < 0 ? ZERO : block, isLower });
    numerals.push(numeral);
  }
  const kept = type === "PHONE_NUMBER" && /^\s*\(?[+\uff0b]/.test(text) ? callingCodeLength(numerals.join("")) : 0;
  const own = positions.slice(kept);
  // Of a text without upper case, so that digits and letters may change places and the case is still known on the way back.
  const allLower = own.some(({ isLower }) => isLower) && !/[A-Z]/.test(text);
  return {
    numerals: numerals.slice(kept),
    write: (changed) => {
      const written = [...characters];
      for (const [index, { at, block, isLower }] of own.entries()) {
        const symbol = alphabet[changed[index] ?? 0] ?? "";
        if (/[0-9]/.test(symbol)) written[at] = String.fromCodePoint(block + Number(symbol));
        else written[at] = isLower || allLower ? symbol.toLowerCase() : symbol;
      }
      return written.join("");
    },
  };
}
