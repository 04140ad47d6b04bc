/**
 * Keys derived from the cluster secret: scrypt once, then HKDF-SHA256 per key. Source: cluster reference, sections 5 and 8.
 *
 * scrypt comes first, because a TLS 1.3 server shows its certificate to any client before the client is authenticated, so a
 * weak secret could be guessed offline against the authority's signature. It takes about 70 ms of a pool thread and 32 MiB.
 * Labels are versioned: another derivation uses another label.
 */

import { createHash, createPrivateKey, hkdfSync, type KeyObject, scrypt } from "node:crypto";

export interface ClusterKeys {
  /** Id of the cluster: 16 hex digits. */
  readonly clusterId: string;
  /** Private Ed25519 key that signs the certificates of this cluster. */
  readonly caKey: KeyObject;
  /** Key of 32 bytes that wraps the data keys of sealed values. */
  readonly kek: Uint8Array;
  /** Id of `kek`: `s:` and 8 hex digits, which name the key of a wrap and reveal nothing about it. */
  readonly kekId: string;
}

/** Minimum length of the secret, in UTF-16 code units; the node file's schema has the same limit. */
export const MIN_SECRET_LENGTH = 16;

const SALT = "gateway/cluster/v1";
/** Cost of scrypt: N = 2^15 and r = 8 need 32 MiB. Node's default limit refuses exactly that, so it is raised. */
const SCRYPT_COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };

/** PKCS#8 prefix of the 32 bytes of an Ed25519 seed (RFC 8410 section 7). */
const PKCS8_ED25519 = Buffer.from("302e020100300506032b657004220420", "hex");

/** Derives the keys. Rejects with a `RangeError` if the secret is too short. */
export async function deriveKeys(secret: string): Promise<ClusterKeys> {
  if (secret.length < MIN_SECRET_LENGTH) {
    throw new RangeError(`the cluster secret has fewer than ${MIN_SECRET_LENGTH} characters`);
  }
  const root = await runScrypt(secret);
  const expand = (label: string, length: number): Buffer => Buffer.from(hkdfSync("sha256", root, "", label, length));
  const kekName = createHash("sha256").update(expand("kek-id/v1", 32)).digest("hex").slice(0, 8);
  return {
    clusterId: expand("cluster-id/v1", 8).toString("hex"),
    caKey: createPrivateKey({
      key: Buffer.concat([PKCS8_ED25519, expand("ca-ed25519/v1", 32)]),
      format: "der",
      type: "pkcs8",
    }),
    kek: expand("kek/v1", 32),
    kekId: `s:${kekName}`,
  };
}

function runScrypt(secret: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(secret, SALT, 32, SCRYPT_COST, (error, root) => (error === null ? resolve(root) : reject(error)));
  });
}
