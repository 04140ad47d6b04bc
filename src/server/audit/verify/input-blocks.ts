/**
 * Splits the input into blocks of whole lines, which threads examine one at a time. Memory is limited by `BLOCK_BYTES`
 * and `MAX_INPUT_LINE_BYTES`; of a longer line only the beginning is kept.
 */

import type { TrailInput } from "./types.ts";

const BLOCK_BYTES = 256 * 1024;
/** Maximum length of a line. A record has at most 4,096 bytes; a collector may have added to it, but not this much. */
export const MAX_INPUT_LINE_BYTES = 64 * 1024;

const NEWLINE = 10;

export interface Block {
  readonly file: string;
  /** Number of its first line, from 1. */
  readonly firstLine: number;
  /** Whole lines; the last line of a file may not end in a newline. */
  readonly bytes: Buffer;
}

export async function* blocksOf({ name, chunks }: TrailInput): AsyncGenerator<Block> {
  let buffered: Buffer = Buffer.alloc(0);
  let line = 1;
  /** True within a line that is too long; `buffered` is its beginning. */
  let isSkipping = false;

  for await (const chunk of chunks) {
    const whole =
      typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    for (let at = 0; at < whole.length; ) {
      let piece = whole.subarray(at, at + BLOCK_BYTES);
      at += piece.length;
      if (isSkipping) {
        const end = piece.indexOf(NEWLINE);
        if (end < 0) continue;
        isSkipping = false;
        piece = piece.subarray(end);
      }
      buffered = Buffer.concat([buffered, piece]);
      const end = buffered.lastIndexOf(NEWLINE) + 1;
      if (end > 0) {
        const bytes = buffered.subarray(0, end);
        yield { file: name, firstLine: line, bytes };
        line += countLines(bytes);
        buffered = Buffer.from(buffered.subarray(end));
      }
      if (buffered.length > MAX_INPUT_LINE_BYTES) {
        buffered = Buffer.from(buffered.subarray(0, MAX_INPUT_LINE_BYTES + 1));
        isSkipping = true;
      }
    }
  }
  if (buffered.length > 0) yield { file: name, firstLine: line, bytes: buffered };
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}
