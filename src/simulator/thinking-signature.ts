/**
 * Signatures of thinking. They are opaque to clients, and can be verified here, since each follows from the text it
 * signs. Hidden thinking is sealed instead: the seal shows that this simulated provider made it, but not its content.
 */

import { createHash } from "node:crypto";

const NONCE_BYTES = 16;
const DIGEST_BYTES = 32;
/** Prefix of encrypted texts in the compat dialect. */
const ENCRYPTED = "gAAAAAB";
const MAX_ENCRYPTED = 256;

/** Returns a substitute for a provider's signature of visible thinking. */
export function signatureOf(thinking: string): string {
  return digest(`simulated:${thinking}`).toString("base64");
}

/** Returns a substitute for the signature of thinking that is not shown. */
export function omittedSignatureOf(thinking: string): string {
  return seal("omitted", thinking);
}

/** Returns a substitute for the encrypted text of hidden thinking. */
export function redactedOf(thinking: string): string {
  return seal("redacted", thinking);
}

/** Returns whether `signature` was made here for exactly this text. An empty text is thinking that was not shown. */
export function isSigned(thinking: string, signature: string): boolean {
  return thinking === "" ? isSealed("omitted", signature) : signature === signatureOf(thinking);
}

export function isRedacted(data: string): boolean {
  return isSealed("redacted", data);
}

/** Returns a substitute for the encrypted content of a reasoning item. It is valid only for the item with that id. */
export function encryptedContentOf(itemId: string): string {
  const bytes = Buffer.from(itemId);
  return ENCRYPTED + Buffer.concat([mark("reasoning", bytes), bytes]).toString("base64url");
}

/** Returns whether the content was encrypted here. `itemId` is `undefined` if the client sends none back. */
export function isEncryptedContent(content: string, itemId: string | undefined): boolean {
  const sealed = Buffer.from(content.slice(ENCRYPTED.length, MAX_ENCRYPTED), "base64url").subarray(DIGEST_BYTES);
  const made = sealed.toString();
  return content === encryptedContentOf(made) && (itemId === undefined || itemId === made);
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

function mark(kind: string, text: Buffer): Buffer {
  return digest(`${kind}:${text.toString("hex")}`);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
