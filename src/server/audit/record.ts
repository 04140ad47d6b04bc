/**
 * The bytes of a record: its canonical form (RFC 8785), its hash and its key's name. Source: cluster reference, 9.1.
 *
 * `hash` is SHA-256 over the domain prefix and the canonical form without `hash` and `sig`; `prev` is within it, so the
 * hash covers the link. `sig` is Ed25519 over the 32 bytes of the hash. Everything binary is base64url without padding.
 */

import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import canonicalize from "canonicalize";
import { MAX_LINE_BYTES } from "../../base/index.ts";
import { AUDIT_EVENTS, type AuditEventName, type JsonValue } from "./types.ts";

/** A line with its newline: what a pipe takes in one piece. */
export const MAX_RECORD_BYTES = MAX_LINE_BYTES;

const HASH_DOMAIN = "gateway/audit/v1\n";

/** `prev` of the first record: 32 zero bytes. */
export const NO_HASH = Buffer.alloc(32).toString("base64url");

/** Of `hash` and `sig` as members of the line, each with its comma. */
const SEALED_LENGTH = `"hash":"${"h".repeat(43)}",`.length + `"sig":"${"s".repeat(86)}",`.length;

/** What a record says, without hash and signature. */
export interface Unsealed {
  readonly node: string;
  readonly kid: string;
  readonly seq: number;
  readonly prev: string;
  readonly ts: string;
  readonly event: AuditEventName;
  readonly controls: readonly string[];
  readonly data: JsonValue;
}

/** The canonical form in parts, so that hash and signature need no second pass over the data. */
export interface CanonicalParts {
  readonly beforeHash: string;
  readonly betweenHashAndSig: string;
  readonly afterSig: string;
}

/** Throws for lone surrogates and numbers that are not finite; nothing bounded by `fitEvent` has them. */
export function canonicalParts({ node, kid, seq, prev, ts, event, controls, data }: Unsealed): CanonicalParts {
  return {
    beforeHash: `{"audit":1,"controls":${canonical(controls)},"data":${canonical(data)},"event":"${event}",`,
    betweenHashAndSig: `"kid":"${kid}","node":${canonical(node)},"prev":"${prev}","seq":${seq},`,
    afterSig: `"ts":"${ts}"}`,
  };
}

export function hashOf({ beforeHash, betweenHashAndSig, afterSig }: CanonicalParts): Buffer {
  return hashOfCanonical(`${beforeHash}${betweenHashAndSig}${afterSig}`);
}

/** `text`: the canonical form of a record without `hash` and `sig`. */
export function hashOfCanonical(text: string): Buffer {
  return createHash("sha256").update(HASH_DOMAIN).update(text).digest();
}

/** The record as its line, without the newline. */
export function sealedLine(parts: CanonicalParts, hash: string, sig: string): string {
  return `${parts.beforeHash}"hash":"${hash}",${parts.betweenHashAndSig}"sig":"${sig}",${parts.afterSig}`;
}

/** Of the line and its newline. */
export function lineBytes({ beforeHash, betweenHashAndSig, afterSig }: CanonicalParts): number {
  return (
    Buffer.byteLength(beforeHash) + Buffer.byteLength(betweenHashAndSig) + afterSig.length + SEALED_LENGTH + "\n".length
  );
}

export function canonical(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error("only what JSON knows has a canonical form");
  return text;
}

/** RFC 7638: SHA-256 over the key's required members in the order of their names. `raw`: 32 bytes. */
export function thumbprintOf(raw: Uint8Array): string {
  const x = Buffer.from(raw).toString("base64url");
  return createHash("sha256").update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest("base64url");
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
