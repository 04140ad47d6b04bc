/**
 * Memory for large bodies, which is taken from the system page by page as needed, and returned to it when it is collected. Memory
 * from malloc would be part of a heap that stays at its largest size as long as one small piece at its end is in use.
 *
 * The engine does not count this memory when it decides whether to collect garbage. So this module requests a collection once
 * unused memory exceeds a limit, or a smaller amount after a time without allocations.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { GatewayError } from "../../base/index.ts";

const MAX_UNUSED_BYTES = 128 << 20;
/** Share of the bytes that requests may hold, so that a small container is not filled by memory that nobody uses. */
const UNUSED_SHARE = 1 / 4;
/** Minimum amount of unused memory that is worth a collection, in bytes. */
const MIN_UNUSED_BYTES = 8 << 20;
const CHECK_EVERY_MS = 1_000;

/** Returns the limit of unused memory of all processes that may hold this many bytes together. */
export const maxUnusedBytesOf = (maxBufferedBytes: number): number =>
  Math.min(MAX_UNUSED_BYTES, Math.floor(maxBufferedBytes * UNUSED_SHARE));

/** Returns how many bytes requests may hold if `bytes` must suffice for them and the unused memory. */
export const fittingBufferedBytes = (bytes: number): number =>
  Math.max(0, Math.floor(bytes / (1 + UNUSED_SHARE)), bytes - MAX_UNUSED_BYTES);

let maxUnusedBytes = MAX_UNUSED_BYTES;

/** Sets the limit of unused memory of this process. */
export function setMaxUnusedBytes(bytes: number): void {
  maxUnusedBytes = bytes;
}

/** Bytes of all regions that are not collected yet. */
let uncollectedBytes = 0;
/** Bytes of the regions whose holder has not called `release`. */
let usedBytes = 0;
let uncollectedBefore = 0;
let checkTimer: NodeJS.Timeout | undefined;
let collect: (() => void) | undefined;

interface RegionSize {
  bytes: number;
}

const collected = new FinalizationRegistry<RegionSize>(({ bytes }) => {
  uncollectedBytes -= bytes;
});

export class Region {
  readonly #memory: ArrayBuffer;
  readonly #taken: RegionSize = { bytes: 0 };
  #isLeft = false;

  /**
   * Creates a region that can grow up to `maxBytes`, for which only addresses are reserved. Throws `overloaded` if the system
   * has none left.
   */
  constructor(maxBytes: number) {
    this.#memory = orOverloaded(() => new ArrayBuffer(0, { maxByteLength: maxBytes }));
    collected.register(this.#memory, this.#taken);
  }

  get length(): number {
    return this.#memory.byteLength;
  }

  /** Returns the first `bytes` bytes, to which the region must have grown. Earlier views stay valid. */
  view(bytes: number): Buffer {
    return Buffer.from(this.#memory, 0, bytes);
  }

  /** Grows to at least `bytes`, and by half, so that a body that arrives slowly does not grow it each time. */
  grow(bytes: number): void {
    const length = Math.min(Math.max(bytes, Math.ceil(this.length * 1.5)), this.#memory.maxByteLength);
    const more = length - this.length;
    if (uncollectedBytes + more - usedBytes > maxUnusedBytes) collectNow();
    orOverloaded(() => this.#memory.resize(length));
    this.#taken.bytes = length;
    uncollectedBytes += more;
    usedBytes += more;
    checkTimer ??= setInterval(checkUnused, CHECK_EVERY_MS).unref();
  }

  /** Marks the region as unused by its holder. The bytes can still be read. */
  release(): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    usedBytes -= this.#taken.bytes;
  }
}

function checkUnused(): void {
  const isAtRest = uncollectedBytes === uncollectedBefore;
  uncollectedBefore = uncollectedBytes;
  if (uncollectedBytes === 0) {
    clearInterval(checkTimer);
    checkTimer = undefined;
  } else if (isAtRest && uncollectedBytes - usedBytes > MIN_UNUSED_BYTES) collectNow();
}

/** Runs the engine's garbage collector, which is only available behind a flag. */
function collectNow(): void {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as () => void;
  }
  collect();
}

function orOverloaded<Value>(allocate: () => Value): Value {
  try {
    return allocate();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new GatewayError("overloaded", "The system has no memory left for the request.", { cause });
  }
}
