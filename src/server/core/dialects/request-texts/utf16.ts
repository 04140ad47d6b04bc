/** Detects UTF-16 text, which most readers of files and some readers of bodies recognize whatever the declared charset. */

interface Utf16Text {
  readonly text: string;
  /** Encodes a text as the bytes were encoded. */
  readonly encode: (text: string) => Buffer;
}

/** Maximum number of bytes that are examined to determine the byte order. */
const MAX_HEAD_BYTES = 4_096;

/**
 * Returns the text, or `undefined` if the bytes are not UTF-16. Without a byte order mark, UTF-16 is recognized by zeros in
 * only one byte of each pair.
 */
export function utf16In(bytes: Buffer, charset = ""): Utf16Text | undefined {
  const order = orderOf(bytes, charset);
  if (order === undefined) return undefined;
  const even = bytes.subarray(0, bytes.length - (bytes.length % 2));
  const text = (order === "le" ? even : Buffer.from(even).swap16()).toString("utf16le");
  return {
    text,
    encode: (changed) => {
      const made = Buffer.from(changed, "utf16le");
      return order === "le" ? made : made.swap16();
    },
  };
}

function orderOf(bytes: Buffer, charset: string): "le" | "be" | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "be";
  const match = /^"?utf-?16(le|be)?"?$/i.exec(charset.trim());
  if (match !== null) return match[1]?.toLowerCase() === "be" ? "be" : "le";
  const head = bytes.subarray(0, MAX_HEAD_BYTES);
  const zeros = [0, 0];
  for (let at = head.indexOf(0); at >= 0; at = head.indexOf(0, at + 1)) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [first = 0, second = 0] = zeros;
  if (first === 0 && second > 0) return "le";
  return second === 0 && first > 0 ? "be" : undefined;
}
