/**
 * The text of a bracketed paste, between `CSI 200~` and `CSI 201~`: every end of line becomes one line feed, other
 * controls but the tab are dropped, and so is what goes beyond `MAX_PASTE_LENGTH`. Nothing in it is ever a key.
 */

import { MAX_PASTE_LENGTH } from "../model/key.ts";
import { createUtf8Reader } from "./utf8.ts";

const END = Uint8Array.from("\u001b[201~", (character) => character.charCodeAt(0));

export interface PasteReader {
  /** The whole text, with the byte that ends it; undefined before. */
  push(byte: number): string | undefined;
}

export function createPasteReader(): PasteReader {
  const utf8 = createUtf8Reader();
  const parts: string[] = [];
  let length = 0;
  let isFull = false;
  let isAfterReturn = false;
  /** How much of `END` the last bytes are. Its first byte occurs in it once, so a mismatch begins anew or not at all. */
  let matched = 0;

  function take(byte: number): void {
    const point = utf8.push(byte);
    if (point === undefined) return;
    const isReturn = point === 0x0d;
    if (isReturn || (point === 0x0a && !isAfterReturn) || point === 0x09)
      add(isReturn ? "\n" : String.fromCodePoint(point));
    else if (point >= 0x20 && !(point >= 0x7f && point <= 0x9f)) add(String.fromCodePoint(point));
    isAfterReturn = isReturn;
  }

  function add(character: string): void {
    isFull ||= length + character.length > MAX_PASTE_LENGTH;
    if (isFull) return;
    parts.push(character);
    length += character.length;
  }

  return {
    push(byte) {
      if (byte === END[matched]) {
        matched += 1;
        return matched === END.length ? parts.join("") : undefined;
      }
      for (const held of END.subarray(0, matched)) take(held);
      matched = byte === END[0] ? 1 : 0;
      if (matched === 0) take(byte);
      return undefined;
    },
  };
}
