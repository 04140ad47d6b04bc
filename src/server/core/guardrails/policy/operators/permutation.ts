/** Permutation of the texts of one form, in which each position has its own symbols; fixed positions are left out. */

import { type Ff1, MIN_DOMAIN } from "./ff1.ts";

type Permute = (numerals: readonly number[]) => readonly number[];

/**
 * Returns the permutation of texts whose positions have `sizes` symbols each. If all are equal, the numerals are encrypted
 * directly. Otherwise the index of the text among all texts of its form is encrypted in binary, repeatedly until it is a valid
 * index (cycle walking: at most twice on average). Returns `undefined` if too few texts have this form.
 */
export function permutationOf(
  ff1: Ff1,
  sizes: readonly number[],
  tweak: Uint8Array,
  isForward: boolean,
): Permute | undefined {
  const permute = isForward ? ff1.encrypt : ff1.decrypt;
  const [radix = 0] = sizes;
  if (sizes.length > 1 && sizes.every((size) => size === radix)) {
    return radix ** sizes.length < MIN_DOMAIN ? undefined : (numerals) => permute(numerals, radix, tweak);
  }
  const count = sizes.reduce((product, size) => product * BigInt(size), 1n);
  if (sizes.length < 2 || count < BigInt(MIN_DOMAIN)) return undefined;
  const bits = (count - 1n).toString(2).length;
  return (numerals) => {
    let rank = sizes.reduce((sum, size, at) => sum * BigInt(size) + BigInt(numerals[at] ?? 0), 0n);
    do {
      const written = [...rank.toString(2).padStart(bits, "0")].map(Number);
      rank = BigInt(`0b${permute(written, 2, tweak).join("")}`);
    } while (rank >= count);
    const found = new Array<number>(sizes.length);
    for (let at = sizes.length - 1; at >= 0; at -= 1) {
      const size = BigInt(sizes[at] ?? 1);
      found[at] = Number(rank % size);
      rank /= size;
    }
    return found;
  };
}
