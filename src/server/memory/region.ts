/**
 * Memory for large bodies, taken from the system page by page as it is needed, and given back to it when it is collected.
 * What malloc gave out lies in a heap that one small piece at its end keeps as large as it ever was.
 *
 * The engine does not count such memory when it judges whether to collect, so this does: beyond `MAX_LEFT_BYTES` of what
 * nobody uses any more it asks for a collection, and so it does for less of it once nothing has been taken for a while.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { GatewayError } from "../../base/index.ts";

const MAX_LEFT_BYTES = 128 << 20;
/** Less than this is not worth a collection. */
const FEW_LEFT_BYTES = 8 << 20;
const LOOK_EVERY_MS = 1_000;

/** Not collected yet. */
let standingBytes = 0;
/** Bytes of these whose holder has not called `leave`. */
let usedBytes = 0;
let standingBefore = 0;
let look: NodeJS.Timeout | undefined;
let collect: (() => void) | undefined;

interface Taken {
  bytes: number;
}

const collected = new FinalizationRegistry<Taken>(({ bytes }) => {
  standingBytes -= bytes;
});

export class Region {
  readonly #memory: ArrayBuffer;
  readonly #taken: Taken = { bytes: 0 };
  #isLeft = false;

  /** Grows up to `mostBytes`, which are addresses only. Throws `overloaded` where the system has none left. */
  constructor(mostBytes: number) {
    this.#memory = allocated(() => new ArrayBuffer(0, { maxByteLength: mostBytes }));
    collected.register(this.#memory, this.#taken);
  }

  get length(): number {
    return this.#memory.byteLength;
  }

  /** Its first so many bytes, of which it has been grown to hold as many. What was handed out before stays good. */
  view(bytes: number): Buffer {
    return Buffer.from(this.#memory, 0, bytes);
  }

  /** At least to `bytes`, and by a half, so that a body that trickles in does not call for it each time. */
  grow(bytes: number): void {
    const length = Math.min(Math.max(bytes, Math.ceil(this.length * 1.5)), this.#memory.maxByteLength);
    const more = length - this.length;
    if (standingBytes + more - usedBytes > MAX_LEFT_BYTES) collectNow();
    allocated(() => this.#memory.resize(length));
    this.#taken.bytes = length;
    standingBytes += more;
    usedBytes += more;
    look ??= setInterval(lookAgain, LOOK_EVERY_MS).unref();
  }

  /** Marks that the holder is done with it; the bytes can still be read. */
  leave(): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    usedBytes -= this.#taken.bytes;
  }
}

function lookAgain(): void {
  const isAtRest = standingBytes === standingBefore;
  standingBefore = standingBytes;
  if (standingBytes === 0) {
    clearInterval(look);
    look = undefined;
  } else if (isAtRest && standingBytes - usedBytes > FEW_LEFT_BYTES) collectNow();
}

/** The engine's own function, which stands under a flag. */
function collectNow(): void {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as () => void;
  }
  collect();
}

function allocated<Value>(allocate: () => Value): Value {
  try {
    return allocate();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new GatewayError("overloaded", "The system has no memory left for the request.", { cause });
  }
}
