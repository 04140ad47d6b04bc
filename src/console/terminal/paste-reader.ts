/**
 * Text of a bracketed paste, between `CSI 200~` and `CSI 201~`: line ends become line feeds, other control characters except
 * tabs are dropped, as is text beyond `MAX_PASTE_LENGTH`. None of it is ever a key.
 */

import { MAX_PASTE_LENGTH } from "../model/key-event.ts";
import { createUtf8Reader } from "./utf8.ts";

const END = Uint8Array.from("\u001b[201~", (character) => character.charCodeAt(0));

export interface PasteReader {
  /** Takes a byte. Returns the whole text with its last byte; `undefined` before. */
  push(byte: number): string | undefined;
}

export function createPasteReader(): PasteReader {
  const utf8 = createUtf8Reader();
  const parts: string[] = [];
  let length = 0;
  let isFull = false;
  let isAfterReturn = false;
  /**
   * Number of bytes of `END` matched so far. Its first byte occurs only once in it, so a mismatch restarts the match or ends
   * it.
   */
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
