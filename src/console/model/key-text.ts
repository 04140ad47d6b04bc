/**
 * Texts of virtual keys in what is typed and pasted. Who is handed a key that leaked looks for it with what they have, which
 * is its text; the id in it is public and finds it, and the rest is wanted nowhere here. Source: `server/auth/virtual-key.ts`.
 */

const KEY = /gwk_([0-9A-Za-z]{8})_[A-Za-z0-9_-]{49}/;

/** The public id of the first key in the text; undefined: there is none. A checksum that is wrong makes it no other thing. */
export const keyIdIn = (text: string): string | undefined => KEY.exec(text)?.[1];

/** With nothing left of any key, whole or begun. */
export const withoutKeys = (text: string): string => text.replace(/gwk_[0-9A-Za-z]{0,8}(?:_[A-Za-z0-9_-]*)?/g, "");
