/** Normalization, which decides whether two texts are the same value. Source: guardrails reference, 4.5. */

import { CONTROLS, foldDigits, INVISIBLE, MARKS } from "../../index.ts";
import { NUMBER_TYPES } from "./alphabets.ts";

/** Invisible characters that may occur within a value. */
const UNSEEN = new RegExp(`[${INVISIBLE}${CONTROLS}]`, "gu");
/** Marks on a digit or a separator. */
const MARKED = new RegExp(`(?<![\\p{L}${MARKS}])[${MARKS}]+`, "gu");

/** Returns whether spaces and hyphens have no meaning in values of the type: national types, and account numbers. */
const isCode = (type: string): boolean => type === "IBAN_CODE" || /^[A-Z]{2}_/.test(type);

/** Matches plain ASCII, which needs no folding; most values are. */
const PLAIN = /^[\t-\r -~]*$/;

/** Normalizes a value: `4111 1111 1111 1111` and `4111-1111-1111-1111` are one card. `type` is the label of an annotation. */
export function normalizeValue(type: string, text: string): string {
  const plain = PLAIN.test(text) ? text : foldDigits(text.normalize("NFC").replace(UNSEEN, "").replace(MARKED, ""));
  const folded = plain.replace(/\s+/g, " ").trim();
  if (NUMBER_TYPES.has(type)) {
    const digits = folded.replace(/[^0-9]/g, "");
    if (digits !== "") return /^[+\uff0b]/.test(folded) ? `+${digits}` : digits;
  }
  if (isCode(type)) {
    const symbols = folded.replace(/[^\p{L}\p{N}]/gu, "").toUpperCase();
    if (symbols !== "") return symbols;
  }
  if (type !== "EMAIL_ADDRESS") return folded;
  const at = folded.lastIndexOf("@");
  return at < 0 ? folded : folded.slice(0, at) + folded.slice(at).toLowerCase();
}
