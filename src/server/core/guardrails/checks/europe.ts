/** Check digits of identity and tax numbers of Europe. Source: guardrails reference, 1.4. */

import { isDate, isShortDate } from "./identity-dates.ts";
import { base36At } from "./letters.ts";
import { digitAt, digitSum, isDigits, isLuhn, isMod11And10, isRepeated, isWeighted, remainder } from "./numerals.ts";

/** Validates an NHS number. */
export function isNhs(value: string): boolean {
  return isWeighted(value, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 11) && !isRepeated(value);
}

const NIF_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE";

/** Validates a número de identificación fiscal: 7 or 8 digits and a letter. */
export function isNif(value: string): boolean {
  const digits = value.slice(0, -1);
  return isDigits(digits) && digits.length <= 8 && NIF_LETTERS[Number(digits) % 23] === value.at(-1);
}

/** Validates a número de identidad de extranjero: X, Y or Z, 7 digits and a letter. */
export function isNie(value: string): boolean {
  const first = "XYZ".indexOf(value.charAt(0));
  return first >= 0 && value.length === 9 && isNif(`${first}${value.slice(1)}`);
}

const ODD_VALUES = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];

/** Validates a codice fiscale: 15 characters and a check letter; digits may be replaced by letters. */
export function isCodiceFiscale(value: string): boolean {
  const isShaped = /^[A-Z]{6}[\dLMNP-V]{2}[A-EHLMPR-T][\dLMNP-V]{2}[A-Z][\dLMNP-V]{3}[A-Z]$/.test(value);
  if (!isShaped) {
    return false;
  }
  let sum = 0;
  for (let index = 0; index < 15; index += 1) {
    const code = base36At(value, index);
    const face = code < 10 ? code : code - 10;
    sum += index % 2 === 0 ? (ODD_VALUES[face] as number) : face;
  }
  return value.charCodeAt(15) - 65 === sum % 26;
}

/** Validates a partita IVA. */
export function isPartitaIva(value: string): boolean {
  return value.length === 11 && !isRepeated(value) && isLuhn(value);
}

const PESEL_CENTURIES = [1900, 2000, 2100, 2200, 1800];

/** Validates a PESEL; the month also encodes the century. */
export function isPesel(value: string): boolean {
  if (!isWeighted(value, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1], 10)) {
    return false;
  }
  const month = Number(value.slice(2, 4));
  const century = PESEL_CENTURIES[Math.floor(month / 20)];
  return century !== undefined && isDate(century + Number(value.slice(0, 2)), month % 20, Number(value.slice(4, 6)));
}

/** Validates a Finnish personal identity code: ddmmyy, a sign for the century, nnn and a check character. */
export function isHetu(value: string): boolean {
  const parts = /^(\d\d)(\d\d)(\d\d)[-+A-FU-Y](\d{3})([0-9A-Y])$/.exec(value);
  if (parts === null) {
    return false;
  }
  const [, day = "", month = "", year = "", serial = "", check = ""] = parts;
  return (
    isShortDate(Number(year), Number(month), Number(day)) &&
    "0123456789ABCDEFHJKLMNPRSTUVWXY"[Number(day + month + year + serial) % 31] === check
  );
}

/**
 * Validates a Steuerliche Identifikationsnummer: one of the first ten digits occurs two or three times, every other at most
 * once.
 */
export function isSteuerId(value: string): boolean {
  if (value.length !== 11 || value.startsWith("0") || !isMod11And10(value)) {
    return false;
  }
  const counts = new Array<number>(10).fill(0);
  for (let index = 0; index < 10; index += 1) {
    const digit = digitAt(value, index);
    counts[digit] = (counts[digit] as number) + 1;
  }
  return Math.max(...counts) <= 3;
}

/** Validates an Umsatzsteuer-Identifikationsnummer, with the letters `DE`. */
export function isGermanVat(value: string): boolean {
  return value.length === 11 && value.startsWith("DE") && isMod11And10(value.slice(2));
}

/** Validates a Krankenversichertennummer: a letter and 9 digits. */
export function isKvnr(value: string): boolean {
  const numeral = letterAsDigits(value, 0) + value.slice(1);
  return /^\d{11}$/.test(numeral) && digitSum(numeral, [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]) % 10 === digitAt(numeral, 10);
}

/** Validates a Rentenversicherungsnummer: area, date of birth, letter, serial, check digit. */
export function isRvnr(value: string): boolean {
  const numeral = value.slice(0, 8) + letterAsDigits(value, 8) + value.slice(9);
  if (!/^\d{13}$/.test(numeral)) {
    return false;
  }
  const day = Number(value.slice(2, 4));
  return (
    isShortDate(Number(value.slice(6, 8)), Number(value.slice(4, 6)), day > 50 ? day - 50 : day) &&
    digitSum(numeral, [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1]) % 10 === digitAt(numeral, 12)
  );
}

function letterAsDigits(value: string, index: number): string {
  return String(value.charCodeAt(index) - 64).padStart(2, "0");
}

/** Validates a lebenslange Arztnummer: the seventh digit is a check digit, from the weights 4 and 9 over the first six. */
export function isLanr(value: string): boolean {
  if (value.length !== 9 || !isDigits(value) || isRepeated(value)) {
    return false;
  }
  let sum = 0;
  for (let index = 0; index < 6; index += 1) {
    sum += digitAt(value, index) * (index % 2 === 0 ? 4 : 9);
  }
  return (10 - (sum % 10)) % 10 === digitAt(value, 6);
}

/** Validates a numéro d'inscription au répertoire: 13 characters and two check digits; numbers of Corsica contain letters. */
export function isNir(value: string): boolean {
  const numeral = value.replace("2A", "19").replace("2B", "18");
  if (!/^\d{15}$/.test(numeral) || (numeral !== value && !/^.{5}2[AB]/.test(value))) {
    return false;
  }
  return 97 - remainder(numeral.slice(0, 13), 97) === Number(numeral.slice(13));
}

/** Validates a numéro fiscal: the last three digits are the first ten modulo 511. */
export function isFrenchNif(value: string): boolean {
  return value.length === 13 && isDigits(value) && Number(value.slice(0, 10)) % 511 === Number(value.slice(10));
}

const LA_POSTE = "356000000";

/** Validates a SIREN of nine digits. A SIRET of 14 digits identifies a site; sites of La Poste use a plain sum of digits. */
export function isSiren(value: string): boolean {
  return value.length === 9 && !isRepeated(value) && isLuhn(value);
}

export function isSiret(value: string): boolean {
  if (value.length !== 14 || !isDigits(value) || isRepeated(value)) {
    return false;
  }
  if (isLuhn(value)) {
    return true;
  }
  return value.startsWith(LA_POSTE) && digitSum(value, new Array<number>(14).fill(1)) % 5 === 0;
}

/** Validates a Burgerservicenummer; eight digits are read with a leading zero. */
export function isBsn(value: string): boolean {
  return isWeighted(value.padStart(9, "0"), [9, 8, 7, 6, 5, 4, 3, 2, -1], 11) && !isRepeated(value);
}

/** Validates a Personnummer of 10 or 12 digits; days above 60 are those of coordination numbers. */
export function isPersonnummer(value: string): boolean {
  const short = value.slice(-10);
  if ((value.length !== 10 && value.length !== 12) || !isLuhn(short)) {
    return false;
  }
  const day = Number(short.slice(4, 6));
  return (
    (value.length === 10 || /^(?:18|19|20)/.test(value)) &&
    isShortDate(Number(short.slice(0, 2)), Number(short.slice(2, 4)), day > 60 ? day - 60 : day)
  );
}

/** Validates an Organisationsnummer, whose third digit is at least 2. */
export function isOrganisationsnummer(value: string): boolean {
  return value.length === 10 && isLuhn(value) && digitAt(value, 2) >= 2 && value[0] !== "0";
}

/** Validates a T.C. kimlik numarası. */
export function isTckn(value: string): boolean {
  if (value.length !== 11 || !isDigits(value) || value.startsWith("0")) {
    return false;
  }
  const at = (index: number) => digitAt(value, index);
  const odd = at(0) + at(2) + at(4) + at(6) + at(8);
  const even = at(1) + at(3) + at(5) + at(7);
  return (((odd * 7 - even) % 10) + 10) % 10 === at(9) && (odd + even + at(9)) % 10 === at(10);
}
