/** Examines a block in a thread: reads its lines, hashes each record, and checks each signature whose key is known. */

import { type KeyObject, verify } from "node:crypto";
import { publicKeyOf, thumbprintOf } from "../audit-record.ts";
import { parseProof, signedBytesOf } from "../group-proof.ts";
import type { Block } from "./input-blocks.ts";
import { type ReadLine, type ReadRecord, readLine } from "./read-record.ts";

const NEWLINE = 10;

export interface ExaminedRecord extends ReadRecord {
  readonly line: number;
  readonly signature: "good" | "bad" | "unknown";
}

export type ExaminedLine =
  | ExaminedRecord
  | (Exclude<ReadLine, ReadRecord | { readonly kind: "other" }> & { readonly line: number });

/** Fields needed to check a signature. */
export type SignedRecord = Pick<ReadRecord, "kid" | "hash" | "sig" | "proof">;

interface VerificationKeys {
  /** Adds the key of `kid`. `raw`: 32 bytes whose thumbprint is `kid`. */
  add(kid: string, raw: Uint8Array): void;
  /** Checks whether the key signed these bytes. */
  check(kid: string, signed: Buffer, sig: string): ExaminedRecord["signature"];
}

/** Maximum number of keys. A trail of a fleet has a few hundred; more are an attempt to exhaust the memory. */
const MAX_KEYS = 20_000;

export function createVerificationKeys(): VerificationKeys {
  const keys = new Map<string, KeyObject>();
  /** Last valid signature. */
  let last: { readonly key: KeyObject; readonly signed: Buffer; readonly sig: string } | undefined;
  return {
    add(kid, raw) {
      if (!keys.has(kid) && keys.size < MAX_KEYS) keys.set(kid, publicKeyOf(raw));
    },
    check(kid, signed, sig) {
      const key = keys.get(kid);
      if (key === undefined) return "unknown";
      // Records of a group are adjacent and share one signature.
      if (key === last?.key && sig === last.sig && signed.equals(last.signed)) return "good";
      if (!verify(null, signed, key, Buffer.from(sig, "base64url"))) return "bad";
      last = { key, signed, sig };
      return "good";
    },
  };
}

/** Returns the raw key that a start record names, if it is the key of its chain. */
export function keyInStartRecord({ kid, start }: Pick<ReadRecord, "kid" | "start">): Buffer | undefined {
  if (start?.key === undefined || start.key.length > 64) return undefined;
  const raw = Buffer.from(start.key, "base64");
  return raw.length === 32 && thumbprintOf(raw) === kid ? raw : undefined;
}

/** Returns the records in the order of their lines. Lines that are not audit records are skipped. */
export function examineBlock(
  { bytes, firstLine }: Pick<Block, "bytes" | "firstLine">,
  keys: VerificationKeys,
): ExaminedLine[] {
  const examined: ExaminedLine[] = [];
  let line = firstLine;
  for (let at = 0; at < bytes.length; line += 1) {
    const newline = bytes.indexOf(NEWLINE, at);
    const end = newline < 0 ? bytes.length : newline;
    const read = readLine(bytes.subarray(at, end));
    at = end + 1;
    if (read.kind === "other") continue;
    if (read.kind !== "record") {
      examined.push({ ...read, line });
      continue;
    }
    const raw = keyInStartRecord(read);
    if (raw !== undefined) keys.add(read.kid, raw);
    examined.push({ ...read, line, signature: checkSignature(read, keys) });
  }
  return examined;
}

export function checkSignature(
  { kid, hash, sig, proof }: SignedRecord,
  keys: VerificationKeys,
): ExaminedRecord["signature"] {
  const digest = Buffer.from(hash, "base64url");
  if (proof === undefined) return keys.check(kid, digest, sig);
  const parsed = parseProof(proof);
  return parsed === undefined ? "bad" : keys.check(kid, signedBytesOf(digest, parsed), sig);
}
