/**
 * Converts places in a text from a server's unit to UTF-16 units. Source: presidio-analyze reference, "Offsets:
 * conversion table".
 */

/** Units of offsets. `chars` are code points, `bytes` are UTF-8 bytes. */
const OFFSET_UNITS = ["chars", "bytes", "utf16"] as const;
export type OffsetUnit = (typeof OFFSET_UNITS)[number];

export const isOffsetUnit = (value: unknown): value is OffsetUnit =>
  (OFFSET_UNITS as readonly unknown[]).includes(value);

/**
 * Converts offsets to positions. Returns `undefined` if one of them is not between two characters: it is not rounded,
 * since it shows that the server counts differently. `text` is well-formed.
 */
export function positionsOf(
  text: string,
  offsets: Iterable<number>,
  unit: OffsetUnit,
): Map<number, number> | undefined {
  const wanted = [...new Set(offsets)].sort((a, b) => a - b);
  const places = new Map<number, number>();
  let next = 0;
  let place = 0;
  for (let count = 0; next < wanted.length; ) {
    const offset = wanted[next] as number;
    if (offset === count) {
      places.set(offset, place);
      next++;
    }
    // The offset is within a character, or beyond the end.
    if (offset < count || (offset > count && place >= text.length)) return undefined;
    if (offset <= count) continue;
    const codePoint = text.codePointAt(place) as number;
    const units = codePoint > 0xffff ? 2 : 1;
    place += units;
    count += unit === "chars" ? 1 : unit === "utf16" ? units : utf8Bytes(codePoint);
  }
  return places;
}

const utf8Bytes = (codePoint: number): number =>
  codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
