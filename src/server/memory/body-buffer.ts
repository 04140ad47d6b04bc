/**
 * Joins a body from its chunks, and counts it as it arrives. Senders choose the size of chunks, and each kept chunk takes a
 * hundred bytes beside its own, so small ones are copied together.
 *
 * A body from the network is kept as chunks and joined at the end, up to a size that most bodies do not exceed: fresh pages for
 * each request would cost more than the rest of its processing. Larger bodies, and decompressed ones, which cost their sender
 * nothing, are kept in memory that is returned to the system.
 */

import type { Region } from "./region.ts";
import type { RequestMemory } from "./request-memory.ts";

const FIRST_BLOCK_BYTES = 4 << 10;
/** Size above which a body is moved to memory that is returned to the system, in bytes. */
const MAX_BLOCK_BYTES = 128 << 10;

/** Maximum size of a body that is kept as the chunks in which it arrived, in bytes. */
const MAX_LISTED_BYTES = 4 << 20;
/** Size from which on a chunk is kept itself, without a copy, in bytes. */
const LARGE_CHUNK_BYTES = 4 << 10;
const SMALL_CHUNKS_BYTES = 16 << 10;

const NO_BYTES = Buffer.alloc(0);

export class BodyBuffer {
  readonly #memory: RequestMemory;
  readonly #maxBytes: number;
  #bytes = 0;
  /** First chunk, until there is a second. */
  #only: Buffer | undefined;
  #block: Buffer = NO_BYTES;
  #region: Region | undefined;

  /** Chunks of the body; `undefined` if it is not kept as chunks. */
  #chunks: Buffer[] | undefined;
  /** Buffer for small chunks. It is filled up to `#smallEnd`, and in the list of chunks up to `#smallListed`. */
  #small: Buffer = NO_BYTES;
  #smallListed = 0;
  #smallEnd = 0;

  /** Starts an empty body. `maxBytes`: maximum size. `isReceived`: the chunks come from a socket. */
  constructor(memory: RequestMemory, maxBytes: number, isReceived = false) {
    this.#memory = memory;
    this.#maxBytes = maxBytes;
    if (isReceived) this.#chunks = [];
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a chunk. Throws `overloaded`. */
  add(chunk: Buffer): void {
    this.#memory.hold(chunk.length);
    const start = this.#bytes;
    this.#bytes += chunk.length;
    if (start === 0) {
      this.#only = chunk;
      return;
    }
    if (this.#chunks !== undefined) {
      if (this.#bytes <= MAX_LISTED_BYTES) {
        if (this.#only !== undefined) this.#list(this.#only, this.#chunks);
        this.#only = undefined;
        this.#list(chunk, this.#chunks);
        return;
      }
      this.#only ??= this.#listed(start);
      this.#chunks = undefined;
    }
    if (this.#bytes > this.#block.length) this.#grow();
    if (this.#only !== undefined) this.#block.set(this.#only);
    this.#only = undefined;
    this.#block.set(chunk, start);
  }

  #list(chunk: Buffer, chunks: Buffer[]): void {
    if (chunk.length >= LARGE_CHUNK_BYTES) {
      this.#listSmall(chunks);
      chunks.push(chunk);
      return;
    }
    if (this.#smallEnd + chunk.length > this.#small.length) {
      this.#listSmall(chunks);
      this.#small = Buffer.allocUnsafeSlow(SMALL_CHUNKS_BYTES);
      this.#smallListed = 0;
      this.#smallEnd = 0;
    }
    this.#small.set(chunk, this.#smallEnd);
    this.#smallEnd += chunk.length;
  }

  #listSmall(chunks: Buffer[]): void {
    if (this.#smallEnd > this.#smallListed) chunks.push(this.#small.subarray(this.#smallListed, this.#smallEnd));
    this.#smallListed = this.#smallEnd;
  }

  #listed(bytes: number): Buffer {
    const chunks = this.#chunks ?? [];
    this.#listSmall(chunks);
    const [only] = chunks;
    return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, bytes);
  }

  /** Returns all added bytes, and removes them. */
  take(): Buffer {
    const whole =
      this.#only ?? (this.#chunks === undefined ? this.#block.subarray(0, this.#bytes) : this.#listed(this.#bytes));
    this.clear();
    return whole;
  }

  /** Removes all added bytes. They stay counted until the owner of `memory` releases them. */
  clear(): void {
    this.#bytes = 0;
    this.#only = undefined;
    this.#block = NO_BYTES;
    this.#region = undefined;
    if (this.#chunks !== undefined) this.#chunks = [];
    this.#small = NO_BYTES;
    this.#smallListed = 0;
    this.#smallEnd = 0;
  }

  #grow(): void {
    if (this.#bytes <= MAX_BLOCK_BYTES) {
      const length = Math.max(FIRST_BLOCK_BYTES, 2 ** Math.ceil(Math.log2(this.#bytes)));
      const block = Buffer.allocUnsafeSlow(Math.min(length, this.#maxBytes));
      block.set(this.#block);
      this.#block = block;
      return;
    }
    const before = this.#block;
    const isFirst = this.#region === undefined;
    this.#region ??= this.#memory.region(this.#maxBytes);
    this.#region.grow(this.#bytes);
    this.#block = this.#region.view(this.#region.length);
    if (isFirst) this.#block.set(before);
  }
}
