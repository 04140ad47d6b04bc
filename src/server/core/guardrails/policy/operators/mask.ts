/** Operator `mask`: covers letters and digits and keeps separators. Source: design decisions, section 16. */

interface Mask {
  readonly character: string;
  /** Number of letters and digits to cover; 0 for all. */
  readonly count: number;
  readonly fromEnd: boolean;
}

const COVERED = /^[\p{L}\p{M}\p{N}]$/u;

/**
 * Masks a value, counting code points. A value without letters and digits is covered completely, since it would otherwise stay
 * visible.
 */
export function mask(text: string, { character, count, fromEnd }: Mask): string {
  const characters = [...text];
  const alphanumerics = characters.flatMap((one, at) => (COVERED.test(one) ? [at] : []));
  const places = alphanumerics.length > 0 ? alphanumerics : characters.map((_, at) => at);
  const maxCovered = count === 0 ? places.length : Math.min(count, places.length);
  const covered = fromEnd ? places.slice(places.length - maxCovered) : places.slice(0, maxCovered);
  for (const at of covered) characters[at] = character;
  return characters.join("");
}
