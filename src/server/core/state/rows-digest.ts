/**
 * Digest of a set of rows: XOR of the first 16 bytes of SHA-256(key 0x00 value) of each row. It does not depend on the order,
 * and a change of one row updates it without reading the others. Source: cluster reference, 6.2.
 */

import { hash } from "node:crypto";

interface RowDigest {
  /** Adds a row, or removes it again: XOR is its own inverse. */
  toggle(key: string, value: string): void;
  /** Returns the digest as 32 hex digits. */
  hex(): string;
}

export function createRowDigest(): RowDigest {
  // Digest as four words of 32 bits, big endian.
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  return {
    toggle(key, value) {
      const bytes = hash("sha256", `${key}\0${value}`, "buffer");
      a ^= bytes.readInt32BE(0);
      b ^= bytes.readInt32BE(4);
      c ^= bytes.readInt32BE(8);
      d ^= bytes.readInt32BE(12);
    },
    hex: () => [a, b, c, d].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join(""),
  };
}
