/**
 * Bytes of a record: canonical form (RFC 8785), hash and key name. Source: cluster reference, 9.1.
 *
 * `hash` is SHA-256 over the domain prefix and the canonical form without `hash`, `sig` and `proof`. It includes `prev`, so it
 * covers the link. Without `proof`, `sig` is Ed25519 over the 32 bytes of the hash; with `proof` it is over the root of a group
 * (`group-proof.ts`). Binary values are base64url without padding.
 */

import { createPublicKey, hash, type KeyObject } from "node:crypto";
import canonicalize from "canonicalize";
import { AUDIT_EVENTS, type AuditEventName, MAX_LINE_BYTES } from "../../base/index.ts";
import { MAX_PROOF_LENGTH } from "./group-proof.ts";

/** Maximum length of a line with its newline: what a pipe takes in one piece. */
export const MAX_RECORD_BYTES = MAX_LINE_BYTES;

const HASH_DOMAIN = "gateway/audit/v1\n";

/** Value of `prev` in the first record: 32 zero bytes. */
export const NO_HASH = Buffer.alloc(32).toString("base64url");

/**
 * Length of `hash`, `sig` and the longest `proof` as members with their commas, so that an event is shortened in the same way
 * whatever its proof.
 */
const SIGNATURE_MEMBERS_LENGTH =
  `"hash":"${"h".repeat(43)}",`.length +
  `"sig":"${"s".repeat(86)}",`.length +
  `"proof":"${"p".repeat(MAX_PROOF_LENGTH)}",`.length;

/** Position of a record in its chain. */
export interface ChainPosition {
  readonly node: string;
  readonly kid: string;
  readonly seq: number;
  readonly prev: string;
  readonly ts: string;
}

/** Canonical form in parts, so that hash, proof and signature need no second pass over the data. */
export interface CanonicalParts {
  readonly beforeHash: string;
  readonly betweenHashAndProof: string;
  readonly betweenProofAndSig: string;
  readonly afterSig: string;
}

/** Returns the canonical form in parts. `event`: canonical text of an object with `controls`, `data` and `event`. */
export function canonicalParts(event: string, { node, kid, seq, prev, ts }: ChainPosition): CanonicalParts {
  return {
    beforeHash: `{"audit":1,${event.slice(1, -1)},`,
    betweenHashAndProof: `"kid":"${kid}","node":${canonical(node)},"prev":"${prev}",`,
    betweenProofAndSig: `"seq":${seq},`,
    afterSig: `"ts":"${ts}"}`,
  };
}

export function hashOf({ beforeHash, betweenHashAndProof, betweenProofAndSig, afterSig }: CanonicalParts): Buffer {
  return hashOfCanonical(`${beforeHash}${betweenHashAndProof}${betweenProofAndSig}${afterSig}`);
}

/** Returns the hash of a record. `text`: its canonical form without `hash`, `sig` and `proof`. */
export function hashOfCanonical(text: string): Buffer {
  return hash("sha256", `${HASH_DOMAIN}${text}`, "buffer");
}

/** Returns a record as a line without the newline. `proof`: set if the record shares its signature. */
export function signedLine(parts: CanonicalParts, digest: string, sig: string, proof?: string): string {
  const { beforeHash, betweenHashAndProof, betweenProofAndSig, afterSig } = parts;
  const member = proof === undefined ? "" : `"proof":"${proof}",`;
  return `${beforeHash}"hash":"${digest}",${betweenHashAndProof}${member}${betweenProofAndSig}"sig":"${sig}",${afterSig}`;
}

/** Returns the length of the line with its newline. */
export function lineBytes({ beforeHash, betweenHashAndProof, betweenProofAndSig, afterSig }: CanonicalParts): number {
  const ascii = betweenProofAndSig.length + afterSig.length + SIGNATURE_MEMBERS_LENGTH + "\n".length;
  return Buffer.byteLength(beforeHash) + Buffer.byteLength(betweenHashAndProof) + ascii;
}

/**
 * Returns the canonical form of a value. Throws for lone surrogates and numbers that are not finite; results of
 * `shrinkToFit` contain neither.
 */
export function canonical(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error("only what JSON knows has a canonical form");
  return text;
}

/**
 * Returns the thumbprint of a key as RFC 7638 defines it: SHA-256 over the required members, sorted by name. `raw`: 32
 * bytes.
 */
export function thumbprintOf(raw: Uint8Array): string {
  const x = Buffer.from(raw).toString("base64url");
  return hash("sha256", `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`, "base64url");
}

export function rawPublicKey(key: KeyObject): Buffer {
  const { x } = key.export({ format: "jwk" });
  if (typeof x !== "string") throw new Error("an Ed25519 key has the member x");
  return Buffer.from(x, "base64url");
}

export function publicKeyOf(raw: Uint8Array): KeyObject {
  const x = Buffer.from(raw).toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}

export function isEventName(text: unknown): text is AuditEventName {
  return AUDIT_EVENTS.some((name) => name === text);
}
