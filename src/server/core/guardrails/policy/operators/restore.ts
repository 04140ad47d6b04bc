/**
 * The pure half of `restore`: values that `fpe` wrote, recognised in a text and decrypted. Source: guardrails reference, 4.3.
 *
 * A candidate has the shape of its type: so many digits, single separators between them. Its first digits say nothing, since
 * encryption changes them. A type with a check digit is known by its displaced one; another by a check of the decrypted
 * value where there is one; of the rest every candidate is decrypted, also one that was never encrypted: only types that a
 * rule encrypts should be named.
 */

import { foldDigits } from "../../index.ts";
import { ALPHABETS, type AlphabetName } from "./alphabets.ts";
import { callingCodeLength } from "./calling-codes.ts";
import { PROOFS } from "./check-digits.ts";
import type { Fpe } from "./fpe.ts";

/** Digits of a value: the numbers of them that there are. */
const DIGIT_COUNTS: Readonly<Record<string, readonly number[]>> = {
  CREDIT_CARD: [12, 13, 14, 15, 16, 17, 18, 19],
  PHONE_NUMBER: [6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  US_SSN: [9],
  US_ITIN: [9],
  US_EIN: [9],
  US_BANK_NUMBER: [8, 9, 10, 11, 12, 13, 14, 15, 16, 17],
  ABA_ROUTING_NUMBER: [9],
  US_NPI: [10],
  UK_NHS: [10],
  CA_SIN: [9],
  AU_ABN: [11],
  AU_ACN: [9],
  AU_TFN: [9],
  AU_MEDICARE: [10],
  IN_AADHAAR: [12],
  PL_PESEL: [11],
  IT_VAT_CODE: [11],
  KR_RRN: [13],
  KR_FRN: [13],
  KR_BRN: [10],
  TH_TNIN: [13],
  TR_NATIONAL_ID: [11],
  BR_CPF: [11],
  BR_CNPJ: [14],
  DE_TAX_ID: [11],
  FR_NIR: [15],
  NL_BSN: [8, 9],
  ZA_ID_NUMBER: [13],
  SE_PERSONNUMMER: [10, 12],
  NG_NIN: [11],
  SA_NATIONAL_ID: [10],
  AE_EMIRATES_ID: [15],
  QA_QID: [11],
  KW_CIVIL_ID: [12],
  BH_CPR: [9],
  OM_CIVIL_ID: [7, 8, 9],
};

/** One type whose values are turned back. */
export interface Restored {
  readonly type: string;
  readonly alphabet: AlphabetName;
}

export interface Restoration {
  readonly text: string;
  /** Values turned back, by type. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Digits of any script, single separators between them; a sign may stand before. */
const DIGIT_RUN = /[+\uff0b]?\(?\p{Nd}(?:[ .\-/()\u00a0\u2007\u202f\u2010-\u2015\u2212]{0,2}\p{Nd})*/gu;

/** Longest run of which candidates are tried. */
const MAX_RUN = 64;

/** Decryptions that texts of one message may take; each costs some 50 microseconds. */
export interface RestoreBudget {
  left: number;
}

/** The message holds more candidates than are tried. */
export class RestoreLimit extends Error {}

const UNBOUNDED: RestoreBudget = { left: Number.POSITIVE_INFINITY };

/** Types in the order of the document: the first that a candidate proves to be takes it. Throws `RestoreLimit`. */
export function restore(
  text: string,
  types: readonly Restored[],
  fpe: Fpe,
  budget: RestoreBudget = UNBOUNDED,
): Restoration {
  const counts: Record<string, number> = {};
  const counted = (type: string, value: string): string => {
    counts[type] = (counts[type] ?? 0) + 1;
    return value;
  };
  const digits = types.filter(({ alphabet }) => alphabet === "digits");
  const others = types.filter(({ alphabet }) => alphabet !== "digits");
  for (const { type, alphabet } of others) {
    // What such a value looks like in running text is not known, so only one that stands alone is recognised.
    if (!standsAlone(text, alphabet)) continue;
    spend(budget);
    const value = fpe.decrypt(type, alphabet, text);
    if (value !== undefined) return { text: counted(type, value), counts };
  }
  if (digits.length === 0) return { text, counts };
  const restored = text.replace(DIGIT_RUN, (run, at: number) => {
    if (run.length > MAX_RUN || touches(text, at, run)) return run;
    const found = decryptRun(run, digits, fpe, budget);
    return found === undefined ? run : counted(found.type, found.value);
  });
  return { text: restored, counts };
}

function spend(budget: RestoreBudget): void {
  if (--budget.left < 0) throw new RestoreLimit("too many candidates");
}

const touches = (text: string, at: number, run: string): boolean =>
  /[\p{L}\p{N}_]$/u.test(text.slice(Math.max(0, at - 2), at)) ||
  /^[\p{L}\p{N}_]/u.test(text.slice(at + run.length, at + run.length + 2));

function decryptRun(
  run: string,
  types: readonly Restored[],
  fpe: Fpe,
  budget: RestoreBudget,
): { readonly type: string; readonly value: string } | undefined {
  const digits = foldDigits(run).replace(/[^0-9]/g, "");
  const hasSign = /^[+\uff0b]/.test(run);
  for (const { type } of types) {
    if (hasSign && type !== "PHONE_NUMBER") continue;
    const fixed = hasSign ? callingCodeLength(digits) : 0;
    const lengths = DIGIT_COUNTS[type];
    if (lengths !== undefined && !lengths.includes(digits.length)) continue;
    if (digits.length - fixed < 6) continue;
    spend(budget);
    const value = fpe.decrypt(type, "digits", run);
    if (value === undefined) continue;
    if (PROOFS.get(type)?.(foldDigits(value).replace(/[^0-9]/g, "")) ?? true) return { type, value };
  }
  return undefined;
}

function standsAlone(text: string, name: AlphabetName): boolean {
  const alphabet: string = ALPHABETS[name];
  const symbols = name === "upper" || name === "alnum_upper" ? text.toUpperCase() : text;
  return (
    text.length <= MAX_RUN && [...foldDigits(symbols)].every((one) => alphabet.includes(one) || "-. /".includes(one))
  );
}
