/**
 * Replacements that operators write, and how to find them in a text: nothing within one is a finding. Source: guardrails
 * reference, 4.5.
 */

import { createHash, createHmac } from "node:crypto";

const BASE32 = "0123456789abcdefghjkmnpqrstvwxyz";

const PSEUDONYM_LENGTH = 10;
const HASH_LENGTH = 32;

export const typeForm = (label: string): string => `<${label}>`;

export const placeholderForm = (label: string, number: number): string => `<${label}_${number}>`;

/** Returns the digest of a normalized value. Without a key, a value with few possibilities can be found by trying all of them. */
export function hashForm(label: string, value: string, key: Buffer | undefined): string {
  const hash = key === undefined ? createHash("sha256") : createHmac("sha256", key);
  return `sha256:${hash.update(`${label}\0${value}`).digest("hex").slice(0, HASH_LENGTH)}`;
}

/**
 * Returns the pseudonym of a value. Its name has 50 bits: with 4.7 million values of a type, the probability that two share a
 * name is 1 %.
 */
export function pseudonymForm(label: string, value: string, key: Buffer): string {
  const digest = createHmac("sha256", key).update(`p1\0${label}\0${value}`).digest();
  let rest = digest.readBigUInt64BE() >> 14n;
  let name = "";
  for (let count = 0; count < PSEUDONYM_LENGTH; count += 1) {
    name = `${BASE32[Number(rest & 31n)] ?? ""}${name}`;
    rest >>= 5n;
  }
  return `<${label}:${name}>`;
}

/**
 * Pattern of replacements. It is narrow, so that no value can be hidden in it: numbers have at most six digits, and a pseudonym
 * contains a letter (one in 100,000 does not, and is found again).
 */
const FORM = /<[A-Z](?:[A-Z_]*[A-Z])?(?:_[0-9]{1,6}|:(?=[0-9]*[a-z])[0-9a-hjkmnp-tv-z]{10})?>/g;

export interface Span {
  readonly start: number;
  readonly end: number;
}

const NONE: readonly Span[] = Object.freeze([]);

/** Returns the positions of replacements, ascending, in time linear in the text. */
export function formsIn(text: string): readonly Span[] {
  if (!text.includes("<")) return NONE;
  return [...text.matchAll(FORM)].map(({ index, 0: form }) => ({ start: index, end: index + form.length }));
}
