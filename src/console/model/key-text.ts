/**
 * Detects virtual keys in typed and pasted text. An operator who receives a leaked key searches for its text; the public id in
 * it identifies the key, and the rest must not be kept. Source: `server/auth/virtual-key.ts`.
 */

const KEY = /gwk_([0-9A-Za-z]{8})_[A-Za-z0-9_-]{49}/;

/**
 * Returns the public id of the first key in the text; `undefined` if there is none. Ignores the checksum, so that a mistyped
 * key is recognized too.
 */
export const keyIdIn = (text: string): string | undefined => KEY.exec(text)?.[1];

/** Removes all keys from a text, complete or partial. */
export const withoutKeys = (text: string): string => text.replace(/gwk_[0-9A-Za-z]{0,8}(?:_[A-Za-z0-9_-]*)?/g, "");
