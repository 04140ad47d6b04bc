/** Alphabets of format-preserving encryption. The order of symbols is part of the format. Source: guardrails reference, 4.3. */

const DIGITS = "0123456789";
const UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER = "abcdefghijklmnopqrstuvwxyz";

export const ALPHABETS = {
  digits: DIGITS,
  upper: UPPER,
  letters: UPPER + LOWER,
  alnum_upper: DIGITS + UPPER,
  alnum: DIGITS + UPPER + LOWER,
} as const;

export type AlphabetName = keyof typeof ALPHABETS;

/** Types that are numbers, with any separators between their digits. */
export const NUMBER_TYPES: ReadonlySet<string> = new Set(
  (
    "CREDIT_CARD PHONE_NUMBER US_SSN US_ITIN US_EIN US_BANK_NUMBER ABA_ROUTING_NUMBER US_NPI UK_NHS CA_SIN AU_ABN AU_ACN " +
    "AU_TFN AU_MEDICARE IN_AADHAAR PL_PESEL IT_VAT_CODE KR_RRN KR_FRN KR_BRN TH_TNIN TR_NATIONAL_ID BR_CPF BR_CNPJ " +
    "DE_TAX_ID FR_NIR NL_BSN ZA_ID_NUMBER SE_PERSONNUMMER NG_NIN SA_NATIONAL_ID AE_EMIRATES_ID QA_QID KW_CIVIL_ID BH_CPR " +
    "OM_CIVIL_ID"
  ).split(" "),
);

/** Returns the configured alphabet of a type, otherwise the built-in one; `undefined` if its values cannot be encrypted. */
export function alphabetOf(type: string, configured: Readonly<Record<string, AlphabetName>>): AlphabetName | undefined {
  if (Object.hasOwn(configured, type)) return configured[type];
  return NUMBER_TYPES.has(type) ? "digits" : undefined;
}
