/**
 * Buffers a body until its end is known. A body that arrives in one piece is kept without a copy. Otherwise chunks are copied
 * into one buffer: a peer may send single bytes, and a buffer for each would take a hundred times their size.
 */
const SMALLEST = 16 << 10;

export class HeldBody {
  #only: Buffer | undefined;
  #grown: Buffer | undefined;
  #bytes = 0;
  /** Number of messages with parts of the body, including empty ones. */
  chunks = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns how many bytes must be reserved for `chunk`, in addition to those already reserved. */
  room(chunk: Buffer): number {
    if (this.#bytes === 0) return chunk.length;
    return Math.max(0, capacityFor(this.#bytes + chunk.length) - (this.#grown?.length ?? 0));
  }

  add(chunk: Buffer): void {
    this.chunks += 1;
    if (chunk.length === 0) return;
    if (this.#bytes === 0) {
      this.#only = chunk;
    } else {
      const needed = this.#bytes + chunk.length;
      let grown = this.#grown;
      if (grown === undefined || grown.length < needed) {
        grown = Buffer.allocUnsafeSlow(capacityFor(needed));
        (this.#only ?? this.#grown ?? chunk).copy(grown, 0, 0, this.#bytes);
        this.#grown = grown;
        this.#only = undefined;
      }
      chunk.copy(grown, this.#bytes);
    }
    this.#bytes += chunk.length;
  }

  /** Returns the whole body and resets the buffer. */
  take(): Buffer {
    const all = this.#only ?? this.#grown?.subarray(0, this.#bytes) ?? NOTHING;
    this.#only = undefined;
    this.#grown = undefined;
    this.#bytes = 0;
    return all;
  }
}

const NOTHING = Buffer.alloc(0);

/** Returns the capacity for a size. It grows by half, so that the total copied stays linear in the size of the body. */
function capacityFor(bytes: number): number {
  let capacity = SMALLEST;
  while (capacity < bytes) capacity += capacity >> 1;
  return capacity;
}
