/**
 * Text of a virtual key, and the part of it that is stored. Source: design decisions, section 1.
 *
 * `gwk_` + public id (8 characters) + `_` + secret (32 random bytes, base64url) + checksum (CRC-32 of all that precedes, base 62,
 * most significant digit first, 6 characters). The checksum lets a scanner recognize a leaked key, and typing errors are refused
 * without a lookup; it protects nothing. The id and the SHA-256 of the secret's 43 characters are stored. 32 random bytes cannot
 * be guessed, so a fast hash without salt is enough.
 */

import { hash, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_LENGTH = 8;
const SECRET_BYTES = 32;
const CHECKSUM_LENGTH = 6;

const FORM = /^gwk_([0-9A-Za-z]{8})_([A-Za-z0-9_-]{43})([0-9A-Za-z]{6})$/;

interface VirtualKey {
  /** Public part, which may appear in logs and lists. */
  readonly id: string;
  /** Secret part, which is never stored, logged or repeated. */
  readonly secret: string;
}

interface MintedKey {
  readonly id: string;
  /** Full text of the key, which is shown once. */
  readonly text: string;
  /** Hex SHA-256 of the secret, which is stored. */
  readonly digest: string;
}

/** Creates a key. `randomBytes`: that of `node:crypto`, except in tests. `id`: id of the key if it is rotated. */
export function mintKey(randomBytes: (length: number) => Uint8Array, id: string = newId(randomBytes)): MintedKey {
  const secret = Buffer.from(randomBytes(SECRET_BYTES)).toString("base64url");
  const head = `gwk_${id}_${secret}`;
  return { id, text: head + checksum(head), digest: digestOf(secret) };
}

/** Parses the text of a key; `undefined` for text that `mintKey` did not make, without a reason. */
export function parseKey(text: string): VirtualKey | undefined {
  const match = FORM.exec(text);
  if (match === null) return undefined;
  const [, id = "", secret = "", sum = ""] = match;
  return checksum(text.slice(0, -CHECKSUM_LENGTH)) === sum ? { id, secret } : undefined;
}

/** Returns the hex SHA-256 of a key's secret. This one call takes a third of the time of a hash object. */
export function digestOf(secret: string): string {
  return hash("sha256", secret, "hex");
}

/** Compares in constant time. */
export function isSameDigest(presented: string, stored: string): boolean {
  const [a, b] = [Buffer.from(presented, "hex"), Buffer.from(stored, "hex")];
  return a.length === b.length && a.length > 0 && timingSafeEqual(a, b);
}

/**
 * Returns a random id, one of 62^8 (about 2 * 10^14). Two of a million keys are equal with a chance of 1 in 400; the state
 * refuses the second.
 */
function newId(randomBytes: (length: number) => Uint8Array): string {
  let id = "";
  while (id.length < ID_LENGTH) {
    for (const byte of randomBytes(ID_LENGTH * 2)) {
      // 248 is the highest multiple of 62 in a byte; values above it would favor the first digits.
      if (byte < 248 && id.length < ID_LENGTH) id += BASE62[byte % 62];
    }
  }
  return id;
}

function checksum(head: string): string {
  let rest = crc32(head);
  let digits = "";
  for (let count = 0; count < CHECKSUM_LENGTH; count++) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
