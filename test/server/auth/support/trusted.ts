/** An issuer with an RSA and an EC key, a verifier that trusts it, and tokens of every kind in its name. */

import { CompactSign } from "jose";
import { goodClaims, startIssuer, type TestIssuer, type TestKey, testKey } from "./issuer.ts";
import { type TestVerifier, testVerifier } from "./verify.ts";

interface Trusted {
  readonly rsa: TestKey;
  readonly ec: TestKey;
  readonly issuer: TestIssuer;
  readonly verifier: TestVerifier;
  /** Claims of a valid token, with changes. */
  good(changes?: Readonly<Record<string, unknown>>): Record<string, unknown>;
}

/** Closed by `after`, such as that of `node:test`. */
export async function startTrusted(after: (close: () => Promise<void>) => void): Promise<Trusted> {
  const [rsa, ec] = await Promise.all([testKey("RS256", "rsa-1"), testKey("ES256", "ec-1")]);
  const issuer = await startIssuer({ keys: [rsa, ec] });
  const verifier = testVerifier([issuer.options()]);
  after(async () => {
    await verifier[Symbol.asyncDispose]();
    await issuer.close();
  });
  return { rsa, ec, issuer, verifier, good: (changes = {}) => goodClaims(issuer.url, changes) };
}

/** Encodes a text as given, or a value as JSON. */
export function base64url(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

/** Returns a token whose claims are exactly this text. */
export function signText(key: TestKey, claims: string | Uint8Array): Promise<string> {
  return new CompactSign(typeof claims === "string" ? new TextEncoder().encode(claims) : claims)
    .setProtectedHeader({ alg: key.algorithm, kid: key.kid ?? "" })
    .sign(key.privateKey);
}
