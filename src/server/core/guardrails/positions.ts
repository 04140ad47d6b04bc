/**
 * Converts positions in texts from UTF-16 units, which slicing needs, to UTF-8 bytes, which the configuration and evaluation
 * data use, and back. An unpaired surrogate counts as three bytes, the size of the replacement character that is written for
 * it.
 */

/** Returns the length of a text in UTF-8 bytes. */
export const utf8Length = (text: string): number => Buffer.byteLength(text, "utf8");

const bytesOf = (codePoint: number): number =>
  codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;

/**
 * Returns the byte offsets of positions in a text. Positions ascend, in UTF-16 units; one within a surrogate pair maps to its
 * end.
 */
export function utf8Offsets(text: string, places: readonly number[]): number[] {
  const offsets: number[] = [];
  let at = 0;
  let bytes = 0;
  for (const place of places) {
    while (at < place && at < text.length) {
      const codePoint = text.codePointAt(at) ?? 0;
      bytes += bytesOf(codePoint);
      at += codePoint > 0xffff ? 2 : 1;
    }
    offsets.push(bytes);
  }
  return offsets;
}

/**
 * Returns the positions, in UTF-16 units, of byte offsets in a text. Offsets ascend; one within a character maps to its end, one
 * after the text to the text's length.
 */
export function utf16Offsets(text: string, offsets: readonly number[]): number[] {
  const places: number[] = [];
  let at = 0;
  let bytes = 0;
  for (const offset of offsets) {
    while (bytes < offset && at < text.length) {
      const codePoint = text.codePointAt(at) ?? 0;
      bytes += bytesOf(codePoint);
      at += codePoint > 0xffff ? 2 : 1;
    }
    places.push(at);
  }
  return places;
}
