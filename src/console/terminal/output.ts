/**
 * The screen of a terminal as a stream that never blocks the process and tells when the terminal cannot keep up.
 *
 * `process.stdout` of a terminal writes synchronously: behind a slow line the whole console would stand still, its keys
 * and reads too. So the terminal is opened once more, non-blocking, which leaves alone what the shell shares with us.
 * What it does not take at once waits here, in order, and is offered again. The rule that this serves: whoever makes
 * frames drops one while `isBusy()`, and makes the newest when it is drained; frames are never queued.
 *
 * A write happens in the calling thread, after the present turn, so that the pieces of one frame leave in one write.
 */

import { EventEmitter } from "node:events";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { createPending } from "./pending.ts";

/** What is used of `process.stdout`. */
export interface TerminalOutput {
  readonly fd: number;
  readonly columns: number;
  readonly rows: number;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Output {
  /**
   * For Ink. Its `columns` are those of `size()` and `resize` comes once the size has settled. Its `rows` are without end:
   * where Ink finds a frame as tall as the terminal it clears the screen and the scrollback (operator console reference,
   * A3), and a frame that was right is that for a moment when the window shrinks. Who makes frames keeps to `size()`.
   */
  readonly stream: NodeJS.WriteStream;
  /** At least `LEAST_SIZE`; settled, so that all who ask between two `resize` events hear the same. */
  size(): Size;
  /** Whether bytes were accepted that the terminal has not taken. */
  isBusy(): boolean;
  /** Resolves when not busy, or gone; rejects with the signal's reason. */
  whenDrained(signal?: AbortSignal): Promise<void>;
  /** That the terminal has taken. */
  readonly bytesWritten: number;
  /** Milliseconds from the first byte to the last of what was written when it was idle before: of the last frame. */
  readonly lastDrainMs: number;
  /**
   * Drops what waits and writes this before it returns, for the way in and out; gives up after `WRITE_NOW_LIMIT_MS` on a
   * terminal that takes nothing.
   */
  writeNow(text: string): void;
  /** From now on what the stream is given is dropped: the screen is somebody else's. */
  hold(): void;
  release(): void;
  /** Calls it once the terminal is found to be closed, at once when it was; returns what takes the listener off. */
  onGone(listener: () => void): () => void;
  close(): void;
}

export const LEAST_SIZE: Size = { columns: 40, rows: 10 };
/** A window that is dragged changes its size with every cell. */
export const RESIZE_MS = 50;
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
  let size = sizeOf(stdout);
  let retry: NodeJS.Timeout | undefined;
  let settling: NodeJS.Timeout | undefined;
  let busySince = 0;
  let bytesWritten = 0;
  let lastDrainMs = 0;
  let isScheduled = false;
  let isHeld = false;
  let isGone = false;
  let isClosed = false;

  function write(data: string | Uint8Array, encoding?: unknown, done?: unknown): boolean {
    const callback = [encoding, done].find((value): value is () => void => typeof value === "function");
    if (isHeld || isGone || isClosed) {
      if (callback !== undefined) process.nextTick(callback);
      return true;
    }
    if (pending.isEmpty) busySince = performance.now();
    pending.add(data, callback);
    if (!isScheduled && retry === undefined) {
      isScheduled = true;
      queueMicrotask(pump);
    }
    return false;
  }

  function pump(): void {
    isScheduled = false;
    retry = undefined;
    if (pending.isEmpty) return;
    while (!pending.isEmpty && !isGone) {
      const taken = offer(pending.head());
      if (taken === 0) {
        retry = setTimeout(pump, RETRY_MS);
        return;
      }
      pending.take(taken);
    }
    lastDrainMs = performance.now() - busySince;
    settled();
  }

  /** Nothing waits any more; they are told after the present turn, like a stream's own events. */
  function settled(): void {
    process.nextTick(() => {
      if (!pending.isEmpty) return;
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

  /** True when something was dropped of which the terminal has the beginning. */
  function drop(): boolean {
    clearTimeout(retry);
    retry = undefined;
    const wasCut = pending.drop();
    settled();
    return wasCut;
  }

  function writeNow(text: string): void {
    if (isGone || isClosed) return;
    // CAN ends an escape sequence that was cut, so that the terminal reads this one from its beginning.
    let left: Uint8Array = Buffer.from(drop() ? `\u0018${text}` : text, "utf8");
    const startedAt = performance.now();
    while (left.length > 0 && !isGone) {
      const taken = offer(left);
      left = left.subarray(taken);
      if (taken > 0) continue;
      if (performance.now() - startedAt > WRITE_NOW_LIMIT_MS) return;
      pause(RETRY_MS);
    }
  }

  function onResize(): void {
    clearTimeout(settling);
    settling = setTimeout(() => {
      const { columns, rows } = sizeOf(stdout);
      if (columns === size.columns && rows === size.rows) return;
      size = { columns, rows };
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

  stdout.on("resize", onResize);

  return {
    stream,
    size: () => size,
    isBusy: () => !pending.isEmpty,
    async whenDrained(signal) {
      signal?.throwIfAborted();
      if (pending.isEmpty) return;
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
    writeNow,
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
      isClosed = true;
      clearTimeout(settling);
      stdout.off("resize", onResize);
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

function sizeOf({ columns, rows }: TerminalOutput): Size {
  // A terminal that does not know its size says 0.
  return {
    columns: Math.max(LEAST_SIZE.columns, columns || 80),
    rows: Math.max(LEAST_SIZE.rows, rows || 24),
  };
}

const clock = new Int32Array(new SharedArrayBuffer(4));

/** Blocks this thread. */
function pause(ms: number): void {
  Atomics.wait(clock, 0, 0, ms);
}
