/**
 * UTF-8 decoder for single bytes (RFC 3629): overlong forms, surrogates and values above U+10FFFF are invalid. An invalid byte
 * is skipped together with the incomplete character before it; a byte that interrupts a character is decoded again.
 */

interface Utf8Reader {
  /** Takes a byte. Returns the code point that it completes. */
  push(byte: number): number | undefined;
  /** Whether a character is incomplete. */
  readonly isPending: boolean;
  reset(): void;
}

export function createUtf8Reader(): Utf8Reader {
  let value = 0;
  let missing = 0;
  // Range of the second byte, which excludes overlong forms, surrogates and values that are too large.
  let least = 0x80;
  let most = 0xbf;

  function begin(byte: number): number | undefined {
    if (byte < 0x80) return byte;
    if (byte >= 0xc2 && byte <= 0xdf) expect(1, byte & 0x1f);
    else if (byte >= 0xe0 && byte <= 0xef)
      expect(2, byte & 0x0f, byte === 0xe0 ? 0xa0 : 0x80, byte === 0xed ? 0x9f : 0xbf);
    else if (byte >= 0xf0 && byte <= 0xf4)
      expect(3, byte & 0x07, byte === 0xf0 ? 0x90 : 0x80, byte === 0xf4 ? 0x8f : 0xbf);
    return undefined;
  }

  function expect(count: number, bits: number, from = 0x80, to = 0xbf): void {
    missing = count;
    value = bits;
    least = from;
    most = to;
  }

  return {
    push(byte) {
      if (missing === 0) return begin(byte);
      if (byte < least || byte > most) {
        missing = 0;
        return begin(byte);
      }
      value = (value << 6) | (byte & 0x3f);
      missing -= 1;
      least = 0x80;
      most = 0xbf;
      return missing === 0 ? value : undefined;
    },
    get isPending() {
      return missing > 0;
    },
    reset() {
      missing = 0;
    },
  };
}
