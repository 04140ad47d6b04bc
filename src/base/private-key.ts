/**
 * Generates private keys. The key pair is generated in encoded form and then parsed: on Node 20 a key from the
 * generator shares a lock with its job, and if the garbage collector frees that job while the key is exported, the
 * thread deadlocks.
 */

import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";

/** Generates a private key as PKCS#8 PEM. */
export function generatePrivatePem(kind: "ed25519" | "p-256"): string {
  if (kind === "ed25519") {
    return generateKeyPairSync("ed25519", {
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    }).privateKey;
  }
  return generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  }).privateKey;
}

/** Generates a private key. `createPublicKey` returns its public half. */
export const generatePrivateKey = (kind: "ed25519" | "p-256"): KeyObject => createPrivateKey(generatePrivatePem(kind));
