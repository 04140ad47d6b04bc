/**
 * Format-preserving encryption of values in texts. Symbols of an alphabet are encrypted together, in order; everything else
 * stays: separators, length, the script of digits, literal characters of the type's pattern. The result matches the pattern
 * again: a text that does not is encrypted again until one does (cycle walking), which decryption repeats. Source: guardrails
 * reference, 4.3; design decisions, section 20.
 */

import { callingCodeLength, DIGIT_FORMS, digitBlock, type FormatOf, type ValueFormat } from "../../index.ts";
import { ALPHABETS, type AlphabetName } from "./alphabets.ts";
import { CHECK_DIGITS, type CheckDigit } from "./check-digits.ts";
import { createFf1 } from "./ff1.ts";
import { permutationOf } from "./permutation.ts";

/** Difference between the check digit of an encrypted value and the right one. */
const DISPLACEMENT = 5;

/** Maximum length of a value, since the cost of one permutation grows with the square of its length. */
const MAX_SYMBOLS = 256;

/** Maximum number of encryptions of one value until it matches its pattern again. */
const MAX_STEPS = 256;

export interface Fpe {
  /** Encrypts a value. Returns `undefined` if too few texts have this format, or if it is longer than `MAX_SYMBOLS`. */
  readonly encrypt: (type: string, alphabet: AlphabetName, text: string) => string | undefined;
  /**
   * Decrypts a value. Returns `undefined` in the same cases, and if the check digit shows that the text was not encrypted here.
   */
  readonly decrypt: (type: string, alphabet: AlphabetName, text: string) => string | undefined;
  /** Returns the number of texts with the form of this text. */
  readonly sizeOf: (type: string, alphabet: AlphabetName, text: string) => number;
  /** Returns whether the check digit shows that the text was encrypted here; `undefined` if the type has none. */
  readonly isDisplaced: (type: string, alphabet: AlphabetName, text: string) => boolean | undefined;
}

const UNKNOWN: FormatOf = () => undefined;

/** Creates the encryption. `key` is 16, 24 or 32 bytes long. */
export function createFpe(key: Uint8Array, tweak: string, formatOf: FormatOf = UNKNOWN): Fpe {
  const ff1 = createFf1(key);
  const createCipher =
    (isForward: boolean): Fpe["encrypt"] =>
    (type, alphabet, text) => {
      const format = formatOf(type);
      const value = parse(type, alphabet, text, format?.classesOf(text));
      const check = checkOf(type, alphabet, value);
      const body = check === undefined ? value.positions : value.positions.slice(0, -1);
      if (body.length > MAX_SYMBOLS) return undefined;
      const sizes = body.map(({ symbols }) => symbols.length);
      const permute = permutationOf(ff1, sizes, Buffer.from(`${tweak}\0${type}`), isForward);
      if (permute === undefined) return undefined;
      const off = check === undefined ? 0 : checkDigitOffset(value, check);
      if (!isForward && check !== undefined && off !== DISPLACEMENT) return undefined;
      let numerals: readonly number[] = body.map(({ numeral }) => numeral);
      for (let step = 0; step < MAX_STEPS; step += 1) {
        numerals = permute(numerals);
        const written = writeValue(value, numerals, check, off);
        if (hasSameForm(value, written, type, alphabet, format)) return written;
      }
      return undefined;
    };
  return {
    encrypt: createCipher(true),
    decrypt: createCipher(false),
    sizeOf(type, alphabet, text) {
      const value = parse(type, alphabet, text, formatOf(type)?.classesOf(text));
      const own = checkOf(type, alphabet, value) === undefined ? value.positions : value.positions.slice(0, -1);
      return own.reduce((product, { symbols }) => product * symbols.length, 1);
    },
    isDisplaced(type, alphabet, text) {
      const value = parse(type, alphabet, text, formatOf(type)?.classesOf(text));
      const check = checkOf(type, alphabet, value);
      return check && checkDigitOffset(value, check) === DISPLACEMENT;
    },
  };
}

/** Characters of a text that are encrypted, and those that stay. */
interface Value {
  /** Code points of the text. */
  readonly characters: readonly string[];
  readonly positions: readonly Position[];
  /** Allowed characters by position, and letter case; equal for the text and its encryption. */
  readonly form: string;
}

interface Position {
  readonly at: number;
  /** Symbols allowed at this position, in alphabet order. */
  readonly symbols: string;
  readonly numeral: number;
  /** Offsets of a digit and a letter from ASCII to the script of the position. */
  readonly digitShift: number;
  readonly letterShift: number;
  readonly isLower: boolean;
}

const WIDE = 0xfee0;

function parse(
  type: string,
  name: AlphabetName,
  text: string,
  classes: readonly (string | undefined)[] | undefined,
): Value {
  const alphabet: string = ALPHABETS[name];
  const foldsCase = name === "upper" || name === "alnum_upper";
  const characters = [...text];
  const shown = characters.map(asciiOf);
  const hasCallingCode = classes === undefined && type === "PHONE_NUMBER" && /^\s*\(?[+\uff0b]/.test(text);
  let fixedDigits = hasCallingCode
    ? callingCodeLength(
        shown
          .map(({ symbol }) => symbol)
          .join("")
          .replace(/[^0-9]/g, ""),
      )
    : 0;
  const cased = foldsCase ? caseOf(shown.map(({ symbol }) => symbol)) : "";
  const positions: Position[] = [];
  const forms: string[] = [];
  for (const [at, { symbol, digitShift, letterShift }] of shown.entries()) {
    const isLower = foldsCase && /^[a-z]$/.test(symbol);
    const upper = isLower ? symbol.toUpperCase() : symbol;
    if (!alphabet.includes(upper)) continue;
    if (fixedDigits > 0) {
      fixedDigits -= 1;
      continue;
    }
    const symbols = symbolsAt(alphabet, classes, at, upper, { foldsCase, cased });
    forms.push(symbols);
    if (symbols.length < 2) continue;
    const numeral = symbols.indexOf(upper);
    if (numeral < 0) continue;
    positions.push({ at, symbols, numeral, digitShift, letterShift, isLower: isLower || cased === "lower" });
  }
  return { characters, positions, form: `${classes !== undefined} ${cased} ${forms.join(" ")}` };
}

interface Casing {
  readonly foldsCase: boolean;
  readonly cased: string;
}

/** Cache of symbols by the characters of a class. Classes come from patterns, so there are few. */
const symbolCache = new Map<string, string>();
const MAX_CACHED_SYMBOLS = 4_096;

/** Returns the allowed symbols at a position. A position with only one symbol stays unchanged. */
function symbolsAt(
  alphabet: string,
  classes: readonly (string | undefined)[] | undefined,
  at: number,
  own: string,
  { foldsCase, cased }: Casing,
): string {
  const members = classes === undefined ? alphabet : classes[at];
  if (members === undefined) return own;
  // If a text has both cases, letters are encrypted to letters, so that their case can be restored.
  const kind = cased !== "mixed" ? /[0-9A-Z]/i : /[0-9]/.test(own) ? /[0-9]/ : /[A-Z]/i;
  const key = `${alphabet} ${members} ${foldsCase} ${kind.source}`;
  const found = symbolCache.get(key);
  if (found !== undefined) return found;
  const symbols = [...alphabet]
    .filter((symbol) => members.includes(symbol) || (foldsCase && members.includes(symbol.toLowerCase())))
    .filter((symbol) => kind.test(symbol))
    .join("");
  if (symbolCache.size >= MAX_CACHED_SYMBOLS) symbolCache.clear();
  symbolCache.set(key, symbols);
  return symbols;
}

/** Converts a digit of any script, or a full-width letter, to ASCII. Forms of digits (`①`) become plain digits. */
function asciiOf(character: string): Pick<Position, "digitShift" | "letterShift"> & { readonly symbol: string } {
  const codePoint = character.codePointAt(0) ?? 0;
  const block = digitBlock(codePoint);
  if (block >= 0) {
    const letterShift = block === 0xff10 ? WIDE : 0;
    return { symbol: String(codePoint - block), digitShift: block - 0x30, letterShift };
  }
  const digit = DIGIT_FORMS.get(codePoint);
  if (digit !== undefined) return { symbol: String(digit), digitShift: 0, letterShift: 0 };
  const isWide = codePoint > 0xff20 && codePoint < 0xff5b;
  const symbol = isWide ? String.fromCharCode(codePoint - WIDE) : character;
  return { symbol, digitShift: isWide ? WIDE : 0, letterShift: isWide ? WIDE : 0 };
}

function caseOf(symbols: readonly string[]): "upper" | "lower" | "mixed" {
  const hasLower = symbols.some((symbol) => /^[a-z]$/.test(symbol));
  if (!hasLower) return "upper";
  return symbols.some((symbol) => /^[A-Z]$/.test(symbol)) ? "mixed" : "lower";
}

/** Returns the scheme of the check digit, unless the last digit is a literal of the pattern. */
function checkOf(type: string, alphabet: AlphabetName, { characters, positions }: Value): CheckDigit | undefined {
  const check = alphabet === "digits" ? CHECK_DIGITS.get(type) : undefined;
  const last = characters.findLastIndex((character) => /^[0-9]$/.test(asciiOf(character).symbol));
  return positions.at(-1)?.at === last ? check : undefined;
}

const digitsOf = (characters: readonly string[]): string =>
  characters
    .map((character) => asciiOf(character).symbol)
    .join("")
    .replace(/[^0-9]/g, "");

/**
 * Returns the difference between the check digit and the right one. Encryption keeps it and adds five, which is a bijection: a
 * genuine value never becomes another one, and a text that is off by five comes from a genuine value.
 */
function checkDigitOffset({ characters }: Value, check: CheckDigit): number {
  const digits = digitsOf(characters);
  return (Number(digits.at(-1)) - check(digits.slice(0, -1)) + 10) % 10;
}

function writeValue(
  value: Value,
  numerals: readonly number[],
  check: CheckDigit | undefined,
  checkOffset: number,
): string {
  const written = [...value.characters];
  const setSymbol = ({ at, digitShift, letterShift, isLower }: Position, symbol: string): void => {
    const cased = isLower ? symbol.toLowerCase() : symbol;
    const shift = /[0-9]/.test(symbol) ? digitShift : letterShift;
    written[at] = shift === 0 ? cased : String.fromCodePoint(cased.charCodeAt(0) + shift);
  };
  for (const [index, numeral] of numerals.entries()) {
    const position = value.positions[index];
    if (position !== undefined) setSymbol(position, position.symbols[numeral] ?? "");
  }
  const last = value.positions.at(-1);
  if (check !== undefined && last !== undefined) {
    const body = digitsOf(written).slice(0, -1);
    setSymbol(last, String((check(body) + checkOffset + DISPLACEMENT) % 10));
  }
  return written.join("");
}

/** Returns whether a text has the form of the value; otherwise decryption would not return the value. */
function hasSameForm(
  value: Value,
  written: string,
  type: string,
  alphabet: AlphabetName,
  format: ValueFormat | undefined,
): boolean {
  return parse(type, alphabet, written, format?.classesOf(written)).form === value.form;
}
