/**
 * Buffers a body until its end is known. A body that arrives in one piece is kept without a copy. Otherwise chunks are copied
 * into one buffer: a peer may send single bytes, and a buffer for each would take a hundred times their size.
 */
const MIN_CAPACITY = 16 << 10;

export class HeldBody {
  #singleChunk: Buffer | undefined;
  #buffer: Buffer | undefined;
  #bytes = 0;
  /** Number of messages with parts of the body, including empty ones. */
  chunks = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns how many bytes must be reserved for `chunk`, in addition to those already reserved. */
  bytesToReserve(chunk: Buffer): number {
    if (this.#bytes === 0) return chunk.length;
    return Math.max(0, capacityFor(this.#bytes + chunk.length) - (this.#buffer?.length ?? 0));
  }

  add(chunk: Buffer): void {
    this.chunks += 1;
    if (chunk.length === 0) return;
    if (this.#bytes === 0) {
      this.#singleChunk = chunk;
    } else {
      const needed = this.#bytes + chunk.length;
      let grown = this.#buffer;
      if (grown === undefined || grown.length < needed) {
        grown = Buffer.allocUnsafeSlow(capacityFor(needed));
        (this.#singleChunk ?? this.#buffer ?? chunk).copy(grown, 0, 0, this.#bytes);
        this.#buffer = grown;
        this.#singleChunk = undefined;
      }
      chunk.copy(grown, this.#bytes);
    }
    this.#bytes += chunk.length;
  }

  /** Returns the whole body and resets the buffer. */
  take(): Buffer {
    const all = this.#singleChunk ?? this.#buffer?.subarray(0, this.#bytes) ?? NOTHING;
    this.#singleChunk = undefined;
    this.#buffer = undefined;
    this.#bytes = 0;
    return all;
  }
}

const NOTHING = Buffer.alloc(0);

/** Returns the capacity for a size. It grows by half, so that the total copied stays linear in the size of the body. */
function capacityFor(bytes: number): number {
  let capacity = MIN_CAPACITY;
  while (capacity < bytes) capacity += capacity >> 1;
  return capacity;
}
