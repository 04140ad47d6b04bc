/**
 * Accepted signature algorithms and the form of the key that verifies each. Only asymmetric algorithms are accepted, so that no
 * published key can serve as a shared secret. Source: RFC 7518 section 3.1, RFC 8037, RFC 9864; design decisions, section 1.
 */

interface KeyForm {
  readonly kty: "RSA" | "EC" | "OKP";
  /** Curve of `EC` and `OKP` keys. */
  readonly crv?: string;
}

const RSA: KeyForm = { kty: "RSA" };
const ED25519: KeyForm = { kty: "OKP", crv: "Ed25519" };

const ALGORITHMS = {
  RS256: RSA,
  RS384: RSA,
  RS512: RSA,
  PS256: RSA,
  PS384: RSA,
  PS512: RSA,
  ES256: { kty: "EC", crv: "P-256" },
  ES384: { kty: "EC", crv: "P-384" },
  ES512: { kty: "EC", crv: "P-521" },
  EdDSA: ED25519,
  Ed25519: ED25519,
} as const satisfies Record<string, KeyForm>;

export type Algorithm = keyof typeof ALGORITHMS;

export function isAlgorithm(value: unknown): value is Algorithm {
  return typeof value === "string" && Object.hasOwn(ALGORITHMS, value);
}

export function keyFormOf(algorithm: Algorithm): KeyForm {
  return ALGORITHMS[algorithm];
}

/** Compares algorithm names. `named`: the `alg` of a key; the two names of Ed25519 signatures are equal. */
export function isSameAlgorithm(named: string, algorithm: Algorithm): boolean {
  return (
    named === algorithm || (isAlgorithm(named) && keyFormOf(named) === ED25519 && keyFormOf(algorithm) === ED25519)
  );
}
