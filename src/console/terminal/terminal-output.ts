/**
 * Output of a terminal as a stream that never blocks the process and reports when the terminal cannot keep up.
 *
 * `process.stdout` of a terminal writes synchronously: a slow line would block the whole console, including its keys and reads.
 * So the terminal is opened again in non-blocking mode, which does not affect the descriptor shared with the shell. Unaccepted
 * output waits here in order and is offered again; accepted output may still be on its way to the screen, which a round trip
 * detects. Rule for producers of frames: drop a frame while `isBusy()`, and draw the newest one when drained; frames are never
 * queued, also not in the line.
 *
 * A write happens in the calling thread, after the current turn, so that the parts of a frame are written together.
 */

import { EventEmitter } from "node:events";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { createByteQueue } from "./byte-queue.ts";
import { createRoundTrip, STATUS_QUERY } from "./round-trip.ts";

/** Part of `process.stdout` that is used. */
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
   * Stream for Ink. Its `columns` are those of `size()`, and `resize` is emitted once the size has settled, whether or not it
   * changed. Its `rows` are infinite: Ink clears the screen and the scrollback for a frame as tall as the terminal (operator
   * console reference, A3), which any frame briefly is when the window shrinks. Producers of frames use `size()`.
   */
  readonly stream: NodeJS.WriteStream;
  /** Reports that the window has, or briefly had, another size, so that its contents may be cut off. */
  windowChanged(): void;
  /** Returns the settled size, at least one cell; it changes only with a `resize` event. */
  size(): Size;
  /** Returns whether accepted bytes were not taken by the terminal or, if it answers queries, not processed. */
  isBusy(): boolean;
  /** Resolves when the output is not busy, or the terminal is gone. Rejects with the signal's reason. */
  whenDrained(signal?: AbortSignal): Promise<void>;
  /** Bytes that the terminal has taken. */
  readonly bytesWritten: number;
  /** Time from the first byte written while idle until idle again, in milliseconds. */
  readonly lastDrainMs: number;
  /** Time of that moment, by `performance.now()`. */
  readonly drainedAt: number;
  /**
   * Drops waiting output and writes this text synchronously, for entering and leaving; gives up after `WRITE_NOW_LIMIT_MS` if
   * the terminal accepts nothing.
   */
  writeNow(text: string): void;
  /** Starts querying the terminal's progress; its answers are read elsewhere and reported here. */
  startQueries(): void;
  answered(): void;
  /** Resolves when no answer is expected, after at most `PENDING_ANSWER_LIMIT_MS`. */
  whenNoAnswerPending(): Promise<void>;
  /** Drops all further output of the stream: another program has the screen. */
  mute(): void;
  unmute(): void;
  /** Calls the listener once the terminal is closed, immediately if it is; returns a function that removes it. */
  onGone(listener: () => void): () => void;
  close(): void;
}

/** Settling time of a resize, in milliseconds: a dragged window changes its size with every cell. */
const RESIZE_MS = 50;
/**
 * Time limit of a synchronous write, in milliseconds: it waits for a slow line, but a stuck terminal must not keep the process
 * from ending.
 */
export const WRITE_NOW_LIMIT_MS = 5_000;
/** Interval of retries after the terminal accepted nothing, in milliseconds. */
const RETRY_MS = 5;

const GONE_CODES: ReadonlySet<string> = new Set(["EPIPE", "EIO", "ENXIO"]);

export function openOutput(stdout: TerminalOutput): Output {
  const fd = openTerminal(stdout.fd);
  const queue = createByteQueue();
  const gone = new EventEmitter();
  const drained = new EventEmitter().setMaxListeners(0);
  const roundTrip = createRoundTrip(reportIfIdle);
  let size = sizeOf(stdout);
  let retry: NodeJS.Timeout | undefined;
  let resizeTimer: NodeJS.Timeout | undefined;
  let busySince = 0;
  let bytesWritten = 0;
  let lastDrainMs = 0;
  let drainedAt = 0;
  let isScheduled = false;
  let isQuerying = false;
  let isMuted = false;
  /** True if the terminal received only the beginning of dropped output. */
  let isCut = false;
  let isGone = false;
  let isClosed = false;

  const isBusy = (): boolean => !queue.isEmpty || roundTrip.isAwaitingAnswer;

  function write(data: string | Uint8Array, encoding?: unknown, done?: unknown): boolean {
    const callback = [encoding, done].find((value): value is () => void => typeof value === "function");
    if (isMuted || isGone || isClosed) {
      if (callback !== undefined) process.nextTick(callback);
      return true;
    }
    if (!isBusy()) busySince = performance.now();
    queue.add(data, callback);
    schedule();
    return false;
  }

  function schedule(): void {
    if (isScheduled || retry !== undefined) return;
    isScheduled = true;
    queueMicrotask(writePending);
  }

  /** Appends a query to the accepted output. */
  function sendQuery(): void {
    if (!isQuerying || isMuted || isGone || isClosed || !roundTrip.mayQuery) return;
    queue.add(STATUS_QUERY);
    roundTrip.asked(bytesWritten + queue.length);
  }

  function answered(): void {
    const hasMore = bytesWritten + queue.length > roundTrip.queryEnd;
    roundTrip.answered();
    // The answer does not cover output written after the query.
    if (!hasMore) return;
    sendQuery();
    schedule();
  }

  function writePending(): void {
    isScheduled = false;
    retry = undefined;
    if (queue.isEmpty) return;
    sendQuery();
    while (!queue.isEmpty && !isGone) {
      const accepted = tryWrite(queue.head());
      if (accepted === 0) {
        retry = setTimeout(writePending, RETRY_MS);
        return;
      }
      queue.take(accepted);
    }
    reportIfIdle();
  }

  function reportIfIdle(): void {
    if (isBusy()) return;
    drainedAt = performance.now();
    lastDrainMs = drainedAt - busySince;
    emitDrained();
  }

  /** Reports that nothing waits, after the current turn like a stream's own events. */
  function emitDrained(): void {
    process.nextTick(() => {
      if (isBusy()) return;
      drained.emit("drained");
      emitter.emit("drain");
    });
  }

  /** Returns the number of bytes taken; 0 if the terminal takes none now. Throws errors other than a closed terminal. */
  function tryWrite(bytes: Uint8Array): number {
    try {
      const accepted = writeSync(fd, bytes);
      bytesWritten += accepted;
      return accepted;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? "";
      if (code === "EAGAIN" || code === "EINTR") return 0;
      if (!GONE_CODES.has(code)) throw error;
      onTerminalGone();
      return bytes.length;
    }
  }

  function onTerminalGone(): void {
    if (isGone) return;
    isGone = true;
    dropPending();
    process.nextTick(() => gone.emit("gone"));
  }

  function dropPending(): void {
    clearTimeout(retry);
    retry = undefined;
    isCut = queue.drop() || isCut;
    if (isGone || bytesWritten < roundTrip.queryEnd) roundTrip.cancelQuery();
    emitDrained();
  }

  function writeNow(text: string): void {
    if (isGone || isClosed) return;
    // CAN ends an incomplete escape sequence, so that the terminal reads this text from its beginning.
    dropPending();
    let left: Uint8Array = Buffer.from(isCut ? `\u0018${text}` : text, "utf8");
    isCut = false;
    const startedAt = performance.now();
    while (left.length > 0 && !isGone) {
      const accepted = tryWrite(left);
      left = left.subarray(accepted);
      if (accepted > 0) continue;
      if (performance.now() - startedAt > WRITE_NOW_LIMIT_MS) return;
      pause(RETRY_MS);
    }
  }

  function windowChanged(): void {
    if (isClosed) return;
    clearTimeout(resizeTimer);
    resizeTimer = setTimeout(() => {
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
    writableLength: { get: () => queue.length },
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
    startQueries() {
      isQuerying = true;
      roundTrip.cancelQuery();
      sendQuery();
      schedule();
    },
    answered,
    whenNoAnswerPending: () => roundTrip.whenNoAnswerPending(),
    mute() {
      isMuted = true;
      dropPending();
    },
    unmute() {
      isMuted = false;
    },
    onGone(listener) {
      gone.once("gone", listener);
      if (isGone) process.nextTick(() => gone.emit("gone"));
      return () => void gone.off("gone", listener);
    },
    close() {
      if (isClosed) return;
      dropPending();
      roundTrip.cancelQuery();
      isClosed = true;
      clearTimeout(resizeTimer);
      if (fd !== stdout.fd) closeSync(fd);
    },
  };
}

/**
 * Opens the terminal of `fd` again in non-blocking mode: by its name if the system provides it, otherwise as the controlling
 * terminal. If neither can be opened, returns `fd`, with which a slow line blocks.
 */
function openTerminal(fd: number): number {
  const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  const names = process.platform === "linux" ? [`/proc/self/fd/${fd}`, "/dev/tty"] : ["/dev/tty"];
  for (const name of names) {
    try {
      return openSync(name, flags);
    } catch {
      // Another user's terminal, after `su`, or none: try the next name.
    }
  }
  return fd;
}

/** Returns the size of the terminal, 80 x 24 if it reports 0 because the size is unknown. */
const sizeOf = ({ columns, rows }: TerminalOutput): Size => ({ columns: columns || 80, rows: rows || 24 });

const clock = new Int32Array(new SharedArrayBuffer(4));

/** Blocks this thread for `ms` milliseconds. */
function pause(ms: number): void {
  Atomics.wait(clock, 0, 0, ms);
}
