/**
 * Check characters of ISO/IEC 7064:2003: the pure systems (section 6: one modulus and a radix) and the hybrid ones (section 8:
 * two moduli). Functions take whole values in upper case, including check characters.
 */

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

type Iso7064System = "11-2" | "37-2" | "97-10" | "37-36";

interface Pure {
  readonly modulus: number;
  readonly radix: number;
  /** Number of the alphabet's characters that a value may use. */
  readonly characters: number;
  /** Additional check character; it may only be the last character. */
  readonly supplementary?: string;
}

const PURE: Readonly<Record<Exclude<Iso7064System, "37-36">, Pure>> = {
  "11-2": { modulus: 11, radix: 2, characters: 10, supplementary: "X" },
  "37-2": { modulus: 37, radix: 2, characters: 36, supplementary: "*" },
  "97-10": { modulus: 97, radix: 10, characters: 10 },
};

export function isIso7064(value: string, system: Iso7064System): boolean {
  return system === "37-36" ? isHybrid(value) : isPure(value, PURE[system]);
}

function isPure(value: string, { modulus, radix, characters, supplementary }: Pure): boolean {
  if (value.length <= (modulus === 97 ? 2 : 1)) return false;
  let sum = 0;
  for (let at = 0; at < value.length; at += 1) {
    const isLast = at === value.length - 1;
    const digit = isLast && value[at] === supplementary ? characters : ALPHABET.indexOf(value[at] ?? " ");
    if (digit < 0 || digit > characters || (digit === characters && !(isLast && value[at] === supplementary)))
      return false;
    sum = (sum * radix + digit) % modulus;
  }
  return sum === 1;
}

/** Validates MOD 37,36. */
function isHybrid(value: string): boolean {
  if (value.length < 2) return false;
  let product = 36;
  for (let at = 0; at < value.length - 1; at += 1) {
    const digit = ALPHABET.indexOf(value[at] ?? " ");
    if (digit < 0) return false;
    product = (((product + digit) % 36 || 36) * 2) % 37;
  }
  const check = ALPHABET.indexOf(value.at(-1) ?? " ");
  return check >= 0 && (product + check) % 36 === 1;
}
