/**
 * Recognizes and decrypts values that `fpe` wrote in a text; the pure part of `restore`. Source: design decisions, section 20.
 *
 * A candidate matches its type's pattern, without checks. The order of candidates is: values that this process is known to have
 * written, those proven by the displaced check digit or by a check of the decrypted value, those whose form belongs to their
 * type, and last those of types without any proof, of which every match is decrypted. Each place is used once.
 */

import type { FormatOf, IssuedValues } from "../../index.ts";
import type { AlphabetName } from "./alphabets.ts";
import { CHECK_DIGITS } from "./check-digits.ts";
import type { Fpe } from "./fpe.ts";

/** Type whose values are restored. */
export interface RestorableType {
  readonly type: string;
  readonly alphabet: AlphabetName;
}

interface RestoreResult {
  readonly text: string;
  /** Number of restored values, by type. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Number of decryptions left for the texts of one message; each takes about 50 microseconds. */
interface RestoreBudget {
  remaining: number;
}

/** Thrown if a message contains more candidates than the maximum. */
export class RestoreLimit extends Error {}

/** Cost of a candidate that is examined but not decrypted, as a fraction of a decryption. */
const EXAMINE_COST = 1 / 32;

/** Maximum length of a candidate, in UTF-16 units. */
const MAX_VALUE_LENGTH = 256;

/** Evidence that the decrypted candidate is the value that was encrypted. */
type Proof = "issued" | "check" | "form" | "none";

const ORDER: readonly Proof[] = ["issued", "check", "form", "none"];

/** Value in a text that is restored. */
interface RestoredValue {
  readonly start: number;
  readonly end: number;
  readonly type: string;
  readonly value: string;
  readonly proof: Proof;
}

interface RestoreContext {
  readonly fpe: Fpe;
  readonly formatOf: FormatOf;
  readonly issued?: IssuedValues | undefined;
}

/** Returns how values of the type are recognized; `undefined` if their format is unknown. */
export function proofOf({ type, alphabet }: RestorableType, formatOf: FormatOf): Exclude<Proof, "issued"> | undefined {
  const format = formatOf(type);
  if (format === undefined) return undefined;
  return alphabet === "digits" && CHECK_DIGITS.has(type) ? "check" : format.proof;
}

interface Candidate extends RestorableType {
  readonly start: number;
  readonly end: number;
  readonly proof: Proof;
  readonly rank: number;
}

/**
 * Returns the rank of a proof. A plus sign proves the form of a telephone number like a check does: the digits after it are not
 * a number of another type.
 */
const rankOf = (proof: Proof, text: string, start: number): number =>
  proof === "form" && /^\(?[+\uff0b]/.test(text.slice(start, start + 2))
    ? ORDER.indexOf("check")
    : ORDER.indexOf(proof);

/** Returns the values to restore, ascending. `types` are in document order, which breaks ties. Throws `RestoreLimit`. */
export function restoredValues(
  text: string,
  types: readonly RestorableType[],
  restoring: RestoreContext,
  budget: RestoreBudget = { remaining: Number.POSITIVE_INFINITY },
): readonly RestoredValue[] {
  const { fpe, formatOf, issued } = restoring;
  const candidates: Candidate[] = [];
  for (const one of types) {
    const proof = proofOf(one, formatOf);
    if (proof === undefined) continue;
    formatOf(one.type)?.visitMatches(text, (start, end) => {
      if (end - start > MAX_VALUE_LENGTH) return;
      spend(budget, EXAMINE_COST);
      const label = issued?.labelOf(text.slice(start, end));
      // The value is known to have been written for another type.
      if (label !== undefined && label !== one.type) return;
      const known = label === undefined ? proof : "issued";
      candidates.push({ ...one, start, end, proof: known, rank: rankOf(known, text, start) });
    });
  }
  candidates.sort((a, b) => a.rank - b.rank || a.start - b.start || b.end - a.end);
  const accepted: RestoredValue[] = [];
  /** Valid unencrypted values; no part of one can be another value. */
  const genuine: { readonly start: number; readonly end: number }[] = [];
  for (const { type, alphabet, start, end, proof } of candidates) {
    if (accepted.some((other) => start < other.end && other.start < end)) continue;
    if (proof !== "issued" && genuine.some((other) => other.start <= start && end <= other.end)) continue;
    const written = text.slice(start, end);
    const accepts = formatOf(type)?.isValid;
    const isValid = (value: string): boolean => accepts?.(value) === true;
    const isCandidate = proof !== "check" || fpe.isDisplaced(type, alphabet, written) !== false;
    if (isCandidate) spend(budget, 1);
    const value = isCandidate ? fpe.decrypt(type, alphabet, written) : undefined;
    if (value === undefined || ((proof === "check" || proof === "form") && !isValid(value))) {
      if (proof === "check" && isValid(written)) genuine.push({ start, end });
      continue;
    }
    accepted.push({ start, end, type, value, proof });
  }
  return accepted.sort((a, b) => a.start - b.start);
}

/** Restores all values in a text. Throws `RestoreLimit`. */
export function restore(
  text: string,
  types: readonly RestorableType[],
  restoring: RestoreContext,
  budget?: RestoreBudget,
): RestoreResult {
  const counts: Record<string, number> = {};
  let restored = "";
  let at = 0;
  for (const { start, end, type, value } of restoredValues(text, types, restoring, budget)) {
    counts[type] = (counts[type] ?? 0) + 1;
    restored += text.slice(at, start) + value;
    at = end;
  }
  return { text: restored + text.slice(at), counts };
}

function spend(budget: RestoreBudget, cost: number): void {
  budget.remaining -= cost;
  if (budget.remaining < 0) throw new RestoreLimit("too many candidates");
}
