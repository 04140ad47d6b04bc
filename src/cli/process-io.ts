/**
 * Access of a verb to the process: streams, environment, time and the signal to stop. A verb gets an `Io` and never reads
 * `process`, so a test can run it with buffers.
 *
 * Data goes to stdout, words to stderr. Exit statuses: design decisions, section 5.
 */

import { resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { isatty } from "node:tty";
import { nonBlockingStream } from "../base/index.ts";

/**
 * Exit status. 0: success; 1: failure, or a negative result; 2: usage error; 3: the gateway could not be reached; 130:
 * interrupted; 141: the reader of stdout has closed it. Daemon: 10 configuration error, 11 storage error, 12 cannot listen.
 * Console: 129 terminal closed, 143 terminated.
 */
export type ExitStatus = 0 | 1 | 2 | 3 | 10 | 11 | 12 | 129 | 130 | 141 | 143;

export interface Io {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the working directory; relative paths on the command line are resolved against it. */
  readonly cwd: string;
  isTerminal(stream: "stdin" | "stdout" | "stderr"): boolean;
  /**
   * Returns the width of stdout in cells; `undefined` if it is not a terminal, or the terminal does not report its
   * width.
   */
  columns(): number | undefined;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /**
   * Aborts at the first SIGINT or SIGTERM (reason: `Interrupted`), and when stdout is closed by its reader or cannot be
   * written.
   */
  readonly signal: AbortSignal;
  /**
   * From now on, `signal` aborts soon after the reader of stdout has closed it, even if nothing is written. For verbs that
   * wait for a long time, such as `-watch`.
   */
  watchReader(): void;
}

/** Abort reason of `Io.signal`: a signal arrived, or the reader of stdout closed it. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly by: "SIGINT" | "SIGTERM" | "closed stdout";

  constructor(by: Interrupted["by"]) {
    super(`interrupted by ${by}`);
    this.by = by;
  }
}

/**
 * Abort reason of `Io.signal`: stdout cannot be written although its reader is still there, for example because the
 * disk is full.
 */
export class OutputLost extends Error {
  override readonly name = "OutputLost";

  constructor(cause: Error) {
    super(`stdout cannot be written: ${cause.message}`, { cause });
  }
}

/** Returns a path from the command line as an absolute path. */
export function resolvePath(io: Io, path: string): string {
  return resolve(io.cwd, path);
}

/** Resolves when the signal has aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

interface ProcessIo extends Io {
  /** Waits until all output has left the process, but at most `FLUSH_MS` after `signal` aborted. */
  flush(): Promise<void>;
}

/** Maximum time to wait for a slow reader after a signal, in milliseconds. */
const FLUSH_MS = 250;

/** Interval between two checks whether stdout still has a reader, in milliseconds. */
const READER_CHECK_MS = 250;

const DESCRIPTORS = { stdin: 0, stdout: 1, stderr: 2 } as const;

/**
 * Returns the process as an `Io`. Streams are opened at first use, since each terminal or pipe costs a millisecond.
 * `onSecondSignal` is called at a second SIGINT or SIGTERM.
 */
export function processIo(onSecondSignal: () => void): ProcessIo {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) onSecondSignal();
      else stop.abort(new Interrupted(name));
    });
  }

  const stdout = once(() => {
    const stream = nonBlockingStream(DESCRIPTORS.stdout) ?? process.stdout;
    // The reader of a pipe may leave first (`gateway … | head`). That is not an error: the verb is stopped, and nothing is
    // printed about it.
    stream.on("error", (error: NodeJS.ErrnoException) =>
      stop.abort(error.code === "EPIPE" ? new Interrupted("closed stdout") : new OutputLost(error)),
    );
    return stream;
  });
  const stderr = once(() => {
    const stream = nonBlockingStream(DESCRIPTORS.stderr) ?? process.stderr;
    // A daemon continues after the reader of its log has ended.
    stream.on("error", () => undefined);
    return stream;
  });

  return {
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return stdout.get();
    },
    get stderr() {
      return stderr.get();
    },
    env: process.env,
    cwd: process.cwd(),
    isTerminal: (stream) => isatty(DESCRIPTORS[stream]),
    columns: () => (process.stdout.isTTY ? process.stdout.columns || undefined : undefined),
    now: () => Date.now(),
    signal: stop.signal,
    watchReader() {
      if (isatty(DESCRIPTORS.stdout)) return;
      const start = async (): Promise<void> => {
        const { openReaderCheck } = await import("./reader-check.ts");
        const hasLeft = await openReaderCheck(DESCRIPTORS.stdout);
        const check = (): void => {
          if (hasLeft()) stop.abort(new Interrupted("closed stdout"));
        };
        setInterval(check, READER_CHECK_MS).unref();
      };
      // Without koffi, the verb ends at its next write instead.
      void start().catch(() => undefined);
    },
    async flush() {
      const streams = [stdout.opened, stderr.opened].filter((it) => it !== undefined);
      await Promise.race([Promise.all(streams.map(whenWritten)), afterAbort(stop.signal, FLUSH_MS)]);
    },
  };
}

async function afterAbort(signal: AbortSignal, ms: number): Promise<void> {
  await untilAborted(signal);
  await pause(ms);
}

function once<Thing>(open: () => Thing): { readonly opened: Thing | undefined; get(): Thing } {
  let opened: Thing | undefined;
  return {
    get opened() {
      return opened;
    },
    get() {
      opened ??= open();
      return opened;
    },
  };
}

/**
 * Resolves once the stream has written everything, or has failed. A destroyed stream has nothing left to write and
 * might never call back, so it is not waited for.
 */
function whenWritten(stream: Writable): Promise<void> {
  // The stream has failed, but its `error` event may not have been emitted yet.
  if (stream.errored !== null) return new Promise((done) => setImmediate(done));
  if (stream.destroyed || stream.writableLength === 0) return Promise.resolve();
  return new Promise((done) => {
    stream.once("error", () => done());
    stream.write("", () => done());
  });
}
