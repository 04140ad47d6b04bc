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
 * Exit status. 0: done; 1: the answer is no, or it failed; 2: usage; 3: the gateway could not be reached; 130: interrupted.
 * Daemon: 10 configuration, 11 storage fault, 12 cannot listen. Console: 129 terminal closed, 143 terminated.
 */
export type ExitStatus = 0 | 1 | 2 | 3 | 10 | 11 | 12 | 129 | 130 | 143;

export interface Io {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute; relative paths of the command line are taken from here. */
  readonly cwd: string;
  isTerminal(stream: "stdin" | "stdout" | "stderr"): boolean;
  /** Cells of a line of stdout; undefined where it is no terminal, or one that does not say. */
  columns(): number | undefined;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /** Aborts at the first SIGINT or SIGTERM (reason: `Interrupted`), or when the reader of stdout has gone. */
  readonly signal: AbortSignal;
}

/** Why `Io.signal` aborted. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly by: "SIGINT" | "SIGTERM" | "closed stdout";

  constructor(by: Interrupted["by"]) {
    super(`interrupted by ${by}`);
    this.by = by;
  }
}

/** Why `Io.signal` aborted when stdout cannot be written though somebody wants it, as when the disk is full. */
export class OutputLost extends Error {
  override readonly name = "OutputLost";

  constructor(cause: Error) {
    super(`stdout cannot be written: ${cause.message}`, { cause });
  }
}

/** A path of the command line, absolute. */
export function resolvePath(io: Io, path: string): string {
  return resolve(io.cwd, path);
}

/** Resolves when the signal has aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

interface ProcessIo extends Io {
  /** Resolves once what has been written has left the process; `FLUSH_MS` after `signal` aborted at the latest. */
  flush(): Promise<void>;
}

/** After a signal a reader that does not read is not waited for longer, in milliseconds. */
const FLUSH_MS = 250;

const DESCRIPTORS = { stdin: 0, stdout: 1, stderr: 2 } as const;

/**
 * The process itself as an `Io`. Streams are opened when first used: a terminal or pipe costs a millisecond each.
 * `onSecondSignal` is called when the user insists.
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
    async flush() {
      const streams = [stdout.opened, stderr.opened].filter((it) => it !== undefined);
      await Promise.race([Promise.all(streams.map(written)), afterAbort(stop.signal, FLUSH_MS)]);
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

/** A destroyed stream has nothing left to write and might not call back. */
function written(stream: Writable): Promise<void> {
  // A write that failed at once has not told yet.
  if (stream.errored !== null) return new Promise((done) => setImmediate(done));
  if (stream.destroyed || stream.writableLength === 0) return Promise.resolve();
  return new Promise((done) => {
    stream.once("error", () => done());
    stream.write("", () => done());
  });
}
