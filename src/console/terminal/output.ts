/**
 * The screen of a terminal as a stream that never blocks the process and tells when the terminal cannot keep up.
 *
 * `process.stdout` of a terminal writes synchronously: behind a slow line the whole console would stand still, its keys
 * and reads too. So the terminal is opened once more, non-blocking, which leaves alone what the shell shares with us.
 * What it does not take at once waits here, in order, and is offered again; what it has taken may still be on its way to
 * the screen, which a round trip tells. The rule that this serves: whoever makes frames drops one while `isBusy()`, and
 * makes the newest when it is drained; frames are never queued, not in the line either.
 *
 * A write happens in the calling thread, after the present turn, so that the pieces of one frame leave in one write.
 */

import { EventEmitter } from "node:events";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { createPending } from "./pending.ts";
import { createRoundTrip, QUESTION } from "./round-trip.ts";

/** What is used of `process.stdout`. */
export interface TerminalOutput {
  readonly fd: number;
  readonly columns: number;
  readonly rows: number;
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Output {
  /**
   * For Ink. Its `columns` are those of `size()` and `resize` comes once the size has settled, as before or not. Its `rows`
   * are without end: where Ink finds a frame as tall as the terminal it clears the screen and the scrollback (operator
   * console reference, A3), and a frame that was right is that for a moment when the window shrinks. Who makes frames keeps
   * to `size()`.
   */
  readonly stream: NodeJS.WriteStream;
  /** The window has another size, or had one for a moment: what it showed may be cut off. */
  windowChanged(): void;
  /** At least one cell; settled, so that all who ask between two `resize` events hear the same. */
  size(): Size;
  /** Whether bytes were accepted that the terminal has not taken, or, where it tells, not come to. */
  isBusy(): boolean;
  /** Resolves when not busy, or gone; rejects with the signal's reason. */
  whenDrained(signal?: AbortSignal): Promise<void>;
  /** That the terminal has taken. */
  readonly bytesWritten: number;
  /** Milliseconds from the first byte of what was written when it was idle before until it was idle again. */
  readonly lastDrainMs: number;
  /** When that was, by `performance.now()`. */
  readonly drainedAt: number;
  /**
   * Drops what waits and writes this before it returns, for the way in and out; gives up after `WRITE_NOW_LIMIT_MS` on a
   * terminal that takes nothing.
   */
  writeNow(text: string): void;
  /** From now on the terminal is asked how far it has come; its answers are read elsewhere, and told here. */
  beginAsking(): void;
  answered(): void;
  /** Resolves when no answer is under way any more, or none is to be reckoned with: after `OWED_LIMIT_MS` at most. */
  whenNothingOwed(): Promise<void>;
  /** From now on what the stream is given is dropped: the screen is somebody else's. */
  hold(): void;
  release(): void;
  /** Calls it once the terminal is found to be closed, at once when it was; returns what takes the listener off. */
  onGone(listener: () => void): () => void;
  close(): void;
}

/** A window that is dragged changes its size with every cell. */
const RESIZE_MS = 50;
/** Behind a slow line the way out waits for room; a terminal that is stuck must not keep the process from ending. */
export const WRITE_NOW_LIMIT_MS = 5_000;
/** How long a terminal that took nothing is left alone. */
const RETRY_MS = 5;

const GONE_CODES: ReadonlySet<string> = new Set(["EPIPE", "EIO", "ENXIO"]);

export function openOutput(stdout: TerminalOutput): Output {
  const fd = openTerminal(stdout.fd);
  const pending = createPending();
  const gone = new EventEmitter();
  const drained = new EventEmitter().setMaxListeners(0);
  const trip = createRoundTrip(idle);
  let size = sizeOf(stdout);
  let retry: NodeJS.Timeout | undefined;
  let settling: NodeJS.Timeout | undefined;
  let busySince = 0;
  let bytesWritten = 0;
  let lastDrainMs = 0;
  let drainedAt = 0;
  let isScheduled = false;
  let isAsking = false;
  let isHeld = false;
  /** The terminal has the beginning of what was dropped. */
  let isCut = false;
  let isGone = false;
  let isClosed = false;

  const isBusy = (): boolean => !pending.isEmpty || trip.isHolding;

  function write(data: string | Uint8Array, encoding?: unknown, done?: unknown): boolean {
    const callback = [encoding, done].find((value): value is () => void => typeof value === "function");
    if (isHeld || isGone || isClosed) {
      if (callback !== undefined) process.nextTick(callback);
      return true;
    }
    if (!isBusy()) busySince = performance.now();
    pending.add(data, callback);
    schedule();
    return false;
  }

  function schedule(): void {
    if (isScheduled || retry !== undefined) return;
    isScheduled = true;
    queueMicrotask(pump);
  }

  /** Behind all that was accepted so far. */
  function ask(): void {
    if (!isAsking || isHeld || isGone || isClosed || !trip.mayAsk) return;
    pending.add(QUESTION);
    trip.asked(bytesWritten + pending.length);
  }

  function answered(): void {
    const hasMore = bytesWritten + pending.length > trip.endsAt;
    trip.answered();
    // Of what was written behind the question the answer says nothing.
    if (!hasMore) return;
    ask();
    schedule();
  }

  function pump(): void {
    isScheduled = false;
    retry = undefined;
    if (pending.isEmpty) return;
    ask();
    while (!pending.isEmpty && !isGone) {
      const taken = offer(pending.head());
      if (taken === 0) {
        retry = setTimeout(pump, RETRY_MS);
        return;
      }
      pending.take(taken);
    }
    idle();
  }

  function idle(): void {
    if (isBusy()) return;
    drainedAt = performance.now();
    lastDrainMs = drainedAt - busySince;
    settled();
  }

  /** Nothing waits any more; they are told after the present turn, like a stream's own events. */
  function settled(): void {
    process.nextTick(() => {
      if (isBusy()) return;
      drained.emit("drained");
      emitter.emit("drain");
    });
  }

  /** Bytes taken; 0 when the terminal takes none now. What is wrong with it other than its absence is thrown. */
  function offer(bytes: Uint8Array): number {
    try {
      const taken = writeSync(fd, bytes);
      bytesWritten += taken;
      return taken;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? "";
      if (code === "EAGAIN" || code === "EINTR") return 0;
      if (!GONE_CODES.has(code)) throw error;
      lose();
      return bytes.length;
    }
  }

  function lose(): void {
    if (isGone) return;
    isGone = true;
    drop();
    process.nextTick(() => gone.emit("gone"));
  }

  function drop(): void {
    clearTimeout(retry);
    retry = undefined;
    isCut = pending.drop() || isCut;
    if (isGone || bytesWritten < trip.endsAt) trip.withdraw();
    settled();
  }

  function writeNow(text: string): void {
    if (isGone || isClosed) return;
    // CAN ends an escape sequence that was cut, so that the terminal reads this one from its beginning.
    drop();
    let left: Uint8Array = Buffer.from(isCut ? `\u0018${text}` : text, "utf8");
    isCut = false;
    const startedAt = performance.now();
    while (left.length > 0 && !isGone) {
      const taken = offer(left);
      left = left.subarray(taken);
      if (taken > 0) continue;
      if (performance.now() - startedAt > WRITE_NOW_LIMIT_MS) return;
      pause(RETRY_MS);
    }
  }

  function windowChanged(): void {
    if (isClosed) return;
    clearTimeout(settling);
    settling = setTimeout(() => {
      size = sizeOf(stdout);
      emitter.emit("resize");
    }, RESIZE_MS);
  }

  const emitter = new EventEmitter();
  const stream = Object.defineProperties(emitter, {
    columns: { get: () => size.columns },
    rows: { value: Number.POSITIVE_INFINITY },
    isTTY: { value: true },
    fd: { value: stdout.fd },
    writable: { get: () => !isClosed },
    writableLength: { get: () => pending.length },
    writableEnded: { get: () => isClosed },
    destroyed: { get: () => isClosed },
    write: { value: write },
    end: { value: (data?: unknown, ...rest: unknown[]) => (typeof data === "string" ? write(data, ...rest) : true) },
  }) as unknown as NodeJS.WriteStream;

  return {
    stream,
    windowChanged,
    size: () => size,
    isBusy,
    async whenDrained(signal) {
      signal?.throwIfAborted();
      if (!isBusy()) return;
      await new Promise<void>((resolve, reject) => {
        const finish = (settle: () => void) => () => {
          drained.off("drained", onDrained);
          signal?.removeEventListener("abort", onAbort);
          settle();
        };
        const onDrained = finish(resolve);
        const onAbort = finish(() => reject(signal?.reason));
        drained.once("drained", onDrained);
        signal?.addEventListener("abort", onAbort, { once: true });
      });
    },
    get bytesWritten() {
      return bytesWritten;
    },
    get lastDrainMs() {
      return lastDrainMs;
    },
    get drainedAt() {
      return drainedAt;
    },
    writeNow,
    beginAsking() {
      isAsking = true;
      trip.withdraw();
      ask();
      schedule();
    },
    answered,
    whenNothingOwed: () => trip.whenNothingOwed(),
    hold() {
      isHeld = true;
      drop();
    },
    release() {
      isHeld = false;
    },
    onGone(listener) {
      gone.once("gone", listener);
      if (isGone) process.nextTick(() => gone.emit("gone"));
      return () => void gone.off("gone", listener);
    },
    close() {
      if (isClosed) return;
      drop();
      trip.withdraw();
      isClosed = true;
      clearTimeout(settling);
      if (fd !== stdout.fd) closeSync(fd);
    },
  };
}

/**
 * The terminal behind `fd` anew and non-blocking: by its own name where the system tells it, else as the terminal that
 * controls this process. Where neither may be opened it is `fd` itself, behind which a slow line does block.
 */
function openTerminal(fd: number): number {
  const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  const names = process.platform === "linux" ? [`/proc/self/fd/${fd}`, "/dev/tty"] : ["/dev/tty"];
  for (const name of names) {
    try {
      return openSync(name, flags);
    } catch {
      // Another user's terminal, after `su`, or none: the next name.
    }
  }
  return fd;
}

/** A terminal that does not know its size says 0. */
const sizeOf = ({ columns, rows }: TerminalOutput): Size => ({ columns: columns || 80, rows: rows || 24 });

const clock = new Int32Array(new SharedArrayBuffer(4));

/** Blocks this thread. */
function pause(ms: number): void {
  Atomics.wait(clock, 0, 0, ms);
}
