/**
 * Signatures of thinking: opaque to clients, and checkable here, since each follows from the text it signs. Thinking
 * that is not shown is sealed instead: the seal tells that this simulated provider made it, not what it says.
 */

import { createHash } from "node:crypto";

const NONCE_BYTES = 16;

/** Stands for a provider's signature below thinking that is shown. */
export function signatureOf(thinking: string): string {
  return digest(`simulated:${thinking}`).toString("base64");
}

/** Stands for the signature of thinking that is not shown. */
export function omittedSignatureOf(thinking: string): string {
  return seal("omitted", thinking);
}

/** Stands for the encrypted text of thinking that the provider hides. */
export function redactedOf(thinking: string): string {
  return seal("redacted", thinking);
}

/** Whether `signature` was made here for exactly this text; an empty text is thinking that was not shown. */
export function isSigned(thinking: string, signature: string): boolean {
  return thinking === "" ? isSealed("omitted", signature) : signature === signatureOf(thinking);
}

export function isRedacted(data: string): boolean {
  return isSealed("redacted", data);
}

function seal(kind: string, text: string): string {
  const nonce = digest(text).subarray(0, NONCE_BYTES);
  return Buffer.concat([nonce, mark(kind, nonce)]).toString("base64");
}

function isSealed(kind: string, sealed: string): boolean {
  const bytes = Buffer.from(sealed.slice(0, 256), "base64");
  const nonce = bytes.subarray(0, NONCE_BYTES);
  return (
    bytes.length > NONCE_BYTES &&
    bytes.toString("base64") === sealed &&
    mark(kind, nonce).equals(bytes.subarray(NONCE_BYTES))
  );
}

function mark(kind: string, nonce: Buffer): Buffer {
  return digest(`${kind}:${nonce.toString("hex")}`);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
