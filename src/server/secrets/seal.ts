/**
 * Seals with AES-256-GCM: a random 96-bit nonce, a 128-bit tag after the ciphertext, and additional data that names the sealed
 * value, so that a value moved to another name, version, data key or cluster does not open.
 *
 * Source: cluster reference, section 8; additional data in the canonical form of RFC 8785 (keys sorted).
 */

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Nonce and ciphertext in base64; the tag is at the end of `ct`. */
interface Sealed {
  readonly n: string;
  readonly ct: string;
}

/** Kinds of sealed values: a secret, the data listener's certificate, an ACME account. */
export type SealedKind = "secret" | "cert" | "acme";

/** Context that a ciphertext is bound to: a version of a value, or a data key under a key-encryption key. */
type Binding =
  | {
      readonly k: SealedKind;
      readonly cluster: string;
      readonly name: string;
      readonly ver: number;
      readonly dk: string;
    }
  | { readonly k: "ring"; readonly cluster: string; readonly dk: string; readonly kek: string };

export function seal(key: Uint8Array, plain: Uint8Array, binding: Binding): Sealed {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(additionalData(binding));
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return { n: nonce.toString("base64"), ct: ciphertext.toString("base64") };
}

/** Returns the plain bytes; `undefined` if they were sealed under another key, bound to another context, or altered. */
export function open(key: Uint8Array, { n, ct }: Sealed, binding: Binding): Buffer | undefined {
  const nonce = Buffer.from(n, "base64");
  const ciphertext = Buffer.from(ct, "base64");
  if (nonce.length !== NONCE_BYTES || ciphertext.length < TAG_BYTES) return undefined;
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(additionalData(binding));
  decipher.setAuthTag(ciphertext.subarray(-TAG_BYTES));
  const plain = decipher.update(ciphertext.subarray(0, -TAG_BYTES));
  try {
    return Buffer.concat([plain, decipher.final()]);
  } catch {
    return undefined;
  }
}

function additionalData(binding: Binding): Buffer {
  const fields = Object.entries(binding).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Buffer.from(JSON.stringify(Object.fromEntries(fields)));
}
