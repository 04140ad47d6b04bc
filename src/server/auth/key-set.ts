/**
 * Reads an issuer's published keys. Source: RFC 7517 section 5, RFC 7518 section 6; RFC 8725 section 3.5 (weak keys).
 *
 * Keys that cannot verify, or are too weak to trust, are skipped and the others are kept: issuers also publish keys for
 * encryption and for future algorithms.
 */

import { type CryptoKey, compactVerify, importJWK, type JWK } from "jose";
import { type Algorithm, isSameAlgorithm, keyFormOf } from "./algorithms.ts";
import { isJsonObject, type JsonObject, member } from "./json-object.ts";

/** Maximum number of keys in a set; real sets have two to ten. */
const MAX_KEYS = 256;

/** Minimum that RFC 7518 section 3.3 allows. The maximum keeps one verification under a millisecond. */
const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 8192;

/** Maximum length in bytes. The usual 65537 takes three; a long exponent makes verification slow. */
const MAX_RSA_EXPONENT_LENGTH = 8;

export interface PublicKey {
  readonly kid: string | undefined;
  /** Returns whether the key may verify signatures of this algorithm. */
  supports(algorithm: Algorithm): boolean;
  /** Returns whether this key made the signature. Call it only for matching algorithms. Never rejects. */
  verifies(token: string, algorithm: Algorithm): Promise<boolean>;
}

/** Returns the usable keys of a key set, or `undefined` if `value` is none. */
export function readKeySet(value: unknown): readonly PublicKey[] | undefined {
  const keys = isJsonObject(value) ? member(value, "keys") : undefined;
  if (!Array.isArray(keys) || keys.length > MAX_KEYS) return undefined;
  return keys.flatMap((key: unknown) => (isJsonObject(key) ? (readKey(key) ?? []) : []));
}

function readKey(key: JsonObject): PublicKey | undefined {
  const [kid, use, operations, alg] = [key["kid"], key["use"], key["key_ops"], key["alg"]];
  if (kid !== undefined && typeof kid !== "string") return undefined;
  if (use !== undefined && use !== "sig") return undefined;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify"))) return undefined;
  if (alg !== undefined && typeof alg !== "string") return undefined;
  // A published private part lets everyone sign, so such a key is skipped.
  if (Object.hasOwn(key, "d")) return undefined;
  const jwk = publicPart(key);
  if (jwk === undefined) return undefined;

  /** Imported keys by algorithm; `undefined` for one that the platform refuses. */
  const imported = new Map<Algorithm, Promise<CryptoKey | undefined>>();
  function importFor(algorithm: Algorithm): Promise<CryptoKey | undefined> {
    let made = imported.get(algorithm);
    if (made === undefined) {
      made = importKey(jwk ?? {}, algorithm);
      imported.set(algorithm, made);
    }
    return made;
  }

  return {
    kid,
    supports(algorithm) {
      const { kty, crv } = keyFormOf(algorithm);
      return jwk.kty === kty && jwk.crv === crv && (alg === undefined || isSameAlgorithm(alg, algorithm));
    },
    async verifies(token, algorithm) {
      const publicKey = await importFor(algorithm);
      if (publicKey === undefined) return false;
      try {
        await compactVerify(token, publicKey, { algorithms: [algorithm] });
        return true;
      } catch {
        return false; // any error counts as an invalid signature
      }
    },
  };
}

async function importKey(jwk: JWK, algorithm: Algorithm): Promise<CryptoKey | undefined> {
  try {
    const key = await importJWK(jwk, algorithm);
    return key instanceof Uint8Array ? undefined : key;
  } catch {
    return undefined; // for example, a point that is not on its curve
  }
}

/** Returns only the members that make up the public key. */
function publicPart(key: JsonObject): (JWK & { readonly kty: string }) | undefined {
  const [kty, crv, x, y, n, e] = [key["kty"], key["crv"], key["x"], key["y"], key["n"], key["e"]];
  if (kty === "RSA" && typeof n === "string" && typeof e === "string") {
    return isSoundRsa(Buffer.from(n, "base64url"), Buffer.from(e, "base64url")) ? { kty, n, e } : undefined;
  }
  if (typeof crv !== "string" || typeof x !== "string") return undefined;
  if (kty === "EC" && typeof y === "string") return { kty, crv, x, y };
  return kty === "OKP" ? { kty, crv, x } : undefined;
}

/**
 * Checks modulus and exponent, both big-endian. With an exponent of 1 every message is its own signature; an even exponent is
 * invalid.
 */
function isSoundRsa(modulus: Buffer, exponent: Buffer): boolean {
  const first = modulus.findIndex((byte) => byte !== 0);
  if (first < 0) return false;
  const bits = (modulus.length - first) * 8 - (Math.clz32(modulus[first] ?? 0) - 24);
  if (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS) return false;
  if (exponent.length === 0 || exponent.length > MAX_RSA_EXPONENT_LENGTH) return false;
  const value = BigInt(`0x${exponent.toString("hex")}`);
  return value >= 3n && value % 2n === 1n;
}
