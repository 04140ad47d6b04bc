/**
 * Puts a body together from its chunks, into one buffer that grows with it, and counts it as it comes. A sender chooses
 * how small its chunks are, and each one that is kept costs a hundred bytes beside its own: none but a lone one is.
 */
import type { Holding } from "./holding.ts";
import type { Region } from "./region.ts";

const FIRST_BLOCK_BYTES = 4 << 10;
/** A larger body is put into memory that goes back to the system. */
const MAX_BLOCK_BYTES = 128 << 10;

const NO_BYTES = Buffer.alloc(0);

export class Gathering {
  readonly #holding: Holding;
  readonly #mostBytes: number;
  #bytes = 0;
  /** The first chunk, until there is a second. */
  #only: Buffer | undefined;
  #block: Buffer = NO_BYTES;
  #region: Region | undefined;

  /** `mostBytes`: no more is added. */
  constructor(holding: Holding, mostBytes: number) {
    this.#holding = holding;
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Throws `overloaded`. */
  add(chunk: Buffer): void {
    this.#holding.hold(chunk.length);
    const start = this.#bytes;
    this.#bytes += chunk.length;
    if (start === 0) {
      this.#only = chunk;
      return;
    }
    if (this.#bytes > this.#block.length) this.#grow();
    if (this.#only !== undefined) this.#block.set(this.#only);
    this.#only = undefined;
    this.#block.set(chunk, start);
  }

  /** All that was added, once. */
  take(): Buffer {
    const whole = this.#only ?? this.#block.subarray(0, this.#bytes);
    this.clear();
    return whole;
  }

  /** Lets go of all that was added. What was counted stays so until its holder gives it back. */
  clear(): void {
    this.#bytes = 0;
    this.#only = undefined;
    this.#block = NO_BYTES;
    this.#region = undefined;
  }

  #grow(): void {
    if (this.#bytes <= MAX_BLOCK_BYTES) {
      const length = Math.max(FIRST_BLOCK_BYTES, 2 ** Math.ceil(Math.log2(this.#bytes)));
      const block = Buffer.allocUnsafeSlow(Math.min(length, this.#mostBytes));
      block.set(this.#block);
      this.#block = block;
      return;
    }
    const before = this.#block;
    const isFirst = this.#region === undefined;
    this.#region ??= this.#holding.region(this.#mostBytes);
    this.#region.grow(this.#bytes);
    this.#block = this.#region.view(this.#region.length);
    if (isFirst) this.#block.set(before);
  }
}
