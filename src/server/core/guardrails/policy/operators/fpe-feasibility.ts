/** Tests at load whether values of a type keep their format under `fpe`. */

import type { ValueFormat } from "../../index.ts";
import type { AlphabetName } from "./alphabets.ts";
import type { Fpe } from "./fpe.ts";

/** Number of tested values; each takes about as long as a few encryptions. */
const SAMPLES = 24;
const SEED = 20_240_229;

export interface Feasibility {
  /** Reason why almost no value keeps its format; `undefined` if some do. */
  readonly reason: string | undefined;
  /** True if only a part of the values keeps its format. */
  readonly isPartial: boolean;
}

const FEASIBLE: Feasibility = { reason: undefined, isPartial: false };

export function feasibilityOf(type: string, alphabet: AlphabetName, fpe: Fpe, format: ValueFormat): Feasibility {
  const random = randomFrom(SEED);
  let made = 0;
  let encrypted = 0;
  for (let count = 0; count < SAMPLES; count += 1) {
    const value = format.sample(random);
    if (value === undefined) continue;
    made += 1;
    if (fpe.encrypt(type, alphabet, value) !== undefined) encrypted += 1;
  }
  if (made === 0) return FEASIBLE;
  if (encrypted > 0) return { reason: undefined, isPartial: encrypted < made };
  const reason = `apart from the characters that stay unchanged, its pattern has fewer than a million values over \`${alphabet}\`, or hardly any encrypted value matches the pattern`;
  return { reason, isPartial: false };
}

/** Returns a generator of pseudorandom numbers that is the same on every node. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
