/**
 * The only source of randomness in a simulated run: xoshiro128** (Blackman and Vigna), seeded by splitmix32. It uses
 * 32-bit integers only, so a seed gives the same numbers on every machine.
 */

export interface Random {
  /** Uniform in [0, 2^32). */
  bits(): number;
  /** Uniform in [0, 1), with 32 bits. */
  real(): number;
  /** A whole number in [0, limit). */
  below(limit: number): number;
  /** A whole number in [low, high]. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  /** Throws on an empty list. */
  pick<T>(list: readonly T[]): T;
  /** A copy in random order. */
  shuffled<T>(list: readonly T[]): T[];
}

export function createRandom(seed: number): Random {
  let mixer = seed | 0;
  const split = (): number => {
    mixer = (mixer + 0x9e3779b9) | 0;
    let z = mixer;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return z ^ (z >>> 15);
  };
  let a = split();
  let b = split();
  let c = split();
  let d = split();

  const bits = (): number => {
    const x = Math.imul(b, 5);
    const result = Math.imul((x << 7) | (x >>> 25), 9) >>> 0;
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = (d << 11) | (d >>> 21);
    return result;
  };
  const real = (): number => bits() / 4_294_967_296;
  const below = (limit: number): number => Math.floor(real() * limit);

  return {
    bits,
    real,
    below,
    between: (low, high) => low + below(high - low + 1),
    chance: (probability) => real() < probability,
    pick(list) {
      if (list.length === 0) throw new RangeError("nothing to pick from");
      return list[below(list.length)]!;
    },
    shuffled(list) {
      const copy = [...list];
      for (let at = copy.length - 1; at > 0; at -= 1) {
        const other = below(at + 1);
        [copy[at], copy[other]] = [copy[other]!, copy[at]!];
      }
      return copy;
    },
  };
}
