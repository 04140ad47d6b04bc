/**
 * Estimates the memory that reading a message as texts takes: copies, a tree of places, each text with its place, and findings.
 */

/** Number of copies of each byte: the message as text, its strings without escapes, and the rewritten strings. */
const COPIES = 4;

const QUOTE = 0x22;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;

/** Bytes to count for a quote, and for the start of a list or an object, as measured with lists of short texts. */
const WEIGHTS = new Uint16Array(0x100);
WEIGHTS[QUOTE] = 160;
WEIGHTS[OPEN_ARRAY] = 320;
WEIGHTS[OPEN_OBJECT] = 320;

/**
 * Returns the bytes to hold for a message, from before it is read until its texts are released. It counts characters and parses
 * nothing, which takes a millisecond per megabyte: a message that is refused for lack of memory costs only that.
 */
export function estimateParsingBytes(message: Buffer | string): number {
  let bytes = COPIES * message.length;
  if (typeof message === "string") {
    for (let at = 0; at < message.length; at++) bytes += WEIGHTS[message.charCodeAt(at)] ?? 0;
  } else for (let at = 0; at < message.length; at++) bytes += WEIGHTS[message[at] as number] as number;
  return bytes;
}
