/** Queue of bytes for a terminal, joined in order, with completion callbacks. */

import assert from "node:assert/strict";

interface ByteQueue {
  readonly isEmpty: boolean;
  readonly length: number;
  add(data: string | Uint8Array, done?: () => void): void;
  /** Returns the next bytes to offer. */
  head(): Uint8Array;
  /** Removes `count` bytes from the head. */
  take(count: number): void;
  /** Discards everything; returns `true` if the terminal received the beginning of a discarded part. */
  drop(): boolean;
}

/** Maximum length in bytes. No frame is made while another one is pending, so exceeding it is a bug of the producer. */
const MAX_QUEUE_BYTES = 4 * 1_024 * 1_024;

export function createByteQueue(): ByteQueue {
  let chunks: Uint8Array[] = [];
  let waiting: (() => void)[] = [];
  let length = 0;
  let isCut = false;

  function finish(): void {
    for (const done of waiting) process.nextTick(done);
    waiting = [];
    chunks = [];
    length = 0;
    isCut = false;
  }

  return {
    get isEmpty() {
      return length === 0;
    },
    get length() {
      return length;
    },
    add(data, done) {
      const bytes = typeof data === "string" ? Buffer.from(data, "utf8") : data;
      assert(length + bytes.length <= MAX_QUEUE_BYTES, "the terminal cannot show the output fast enough");
      if (done !== undefined) waiting.push(done);
      if (bytes.length > 0) chunks.push(bytes);
      length += bytes.length;
      if (length === 0) finish();
    },
    head() {
      const joined = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
      const bytes = joined ?? new Uint8Array();
      chunks = [bytes];
      return bytes;
    },
    take(count) {
      // A closed terminal may report more bytes than are left.
      if (count >= length) return finish();
      chunks = [this.head().subarray(count)];
      length -= count;
      isCut = true;
    },
    drop() {
      const wasCut = isCut;
      finish();
      return wasCut;
    },
  };
}
