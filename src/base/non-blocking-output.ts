/**
 * Output that never blocks the writing thread.
 *
 * `O_NONBLOCK` belongs to the open file, which stdout and stderr share with the shell and with every process that
 * inherited them: Node clears it when one of its children starts or ends, and a write to a full pipe then blocks the
 * whole process, including its signals. So a pipe or terminal is opened again, as an open file of our own.
 */

import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";
import { Writable } from "node:stream";
import { isatty } from "node:tty";

export interface OpenedOutput {
  readonly fd: number;
  /** True if this process opened the descriptor and must close it. */
  readonly isReopened: boolean;
  readonly isFile: boolean;
}

/**
 * Opens the pipe or terminal behind `given` again, non-blocking. Returns `given` itself for other files, without
 * `/proc`, and for a pipe or terminal of another user, as in a container that does not run as root.
 */
export function reopenNonBlocking(inheritedFd: number): OpenedOutput {
  try {
    const stat = fstatSync(inheritedFd);
    if (!stat.isFIFO() && !isatty(inheritedFd)) return { fd: inheritedFd, isReopened: false, isFile: stat.isFile() };
    const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
    return { fd: openSync(`/proc/self/fd/${inheritedFd}`, flags), isReopened: true, isFile: false };
  } catch {
    return { fd: inheritedFd, isReopened: false, isFile: false };
  }
}

const FIRST_RETRY_MS = 1;
const MAX_RETRY_MS = 50;
const RETRYABLE_CODES: ReadonlySet<string> = new Set(["EAGAIN", "EWOULDBLOCK", "EINTR"]);

/**
 * Returns a stream over the pipe or terminal behind `given`, or `undefined` if it cannot be opened again. Bytes that
 * the reader does not accept stay in the stream (`writableLength`), and their write is repeated.
 */
export function nonBlockingStream(inheritedFd: number): Writable | undefined {
  const { fd, isReopened: isOurs } = reopenNonBlocking(inheritedFd);
  if (!isOurs) return undefined;
  let timer: NodeJS.Timeout | undefined;
  const tryWrite = (bytes: Buffer, retryMs: number, done: (error?: Error) => void): void => {
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(fd, bytes, written);
      done();
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (!RETRYABLE_CODES.has(code)) {
        done(error as Error);
        return;
      }
      const nextRetryMs = written > 0 ? FIRST_RETRY_MS : Math.min(2 * retryMs, MAX_RETRY_MS);
      timer = setTimeout(tryWrite, nextRetryMs, bytes.subarray(written), nextRetryMs, done);
    }
  };
  return new Writable({
    decodeStrings: true,
    // Each write is separate: a pipe accepts a log line completely or not at all, and another thread writes the audit
    // trail to the same pipe.
    write: (bytes: Buffer, _, done) => tryWrite(bytes, FIRST_RETRY_MS, done),
    destroy(error, done) {
      clearTimeout(timer);
      closeSync(fd);
      done(error);
    },
  });
}
