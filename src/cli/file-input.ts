/** Opens a file named on the command line for reading. It is checked before the first call to the gateway. */

import { constants, createReadStream, type ReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { clipArgument, UsageError } from "./parse-flags.ts";
import { type Io, resolvePath } from "./process-io.ts";

export interface FileInput {
  /** False for a pipe, which can be read once and has no size. */
  readonly isRegular: boolean;
  readonly size: number;
  /** Time of the last change of its content. */
  readonly modifiedAt: Date;
  /** First bytes of a regular file; empty for a pipe. */
  readonly head: Buffer;
  /** Opens a stream over the whole content. */
  open(): ReadStream;
}

const HEAD_BYTES = 16;

/** Checks the file and returns it, ready to be opened. Throws `UsageError` if there is no readable file. */
export async function readInput(io: Io, path: string): Promise<FileInput> {
  const whole = resolvePath(io, path);
  const openStream = (): ReadStream => createReadStream(whole, { signal: io.signal });
  try {
    // Opens a pipe without waiting for a writer; the reader of the stream waits, and a signal ends that.
    await using file = await open(whole, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stat = await file.stat();
    if (stat.isDirectory()) throw new UsageError(`'${clipArgument(path)}' is a directory`);
    const { buffer, bytesRead } = stat.isFile()
      ? await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
      : { buffer: Buffer.alloc(0), bytesRead: 0 };
    const { size, mtime: modifiedAt } = stat;
    return { isRegular: stat.isFile(), size, modifiedAt, head: buffer.subarray(0, bytesRead), open: openStream };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`'${clipArgument(path)}' cannot be read: ${whyUnreadable(error)}`);
  }
}

/**
 * Reads a whole file of at most `maxBytes`. A pipe or device is refused, since opening one can block forever. Rejects with the
 * system's error, or with a `UsageError`. `shown`: the name in messages.
 */
export async function readRegular(path: string, shown: string, maxBytes: number): Promise<Buffer> {
  await using file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const stat = await file.stat();
  if (!stat.isFile()) throw new UsageError(`'${clipArgument(shown)}' cannot be read: it is not a regular file`);
  if (stat.size > maxBytes) throw new UsageError(`'${clipArgument(shown)}' is longer than ${maxBytes} bytes`);
  return await file.readFile();
}

/** Explains why a file could not be opened. */
export function whyUnreadable(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "there is no such file";
  if (code === "EACCES") return "permission denied";
  return code === "EISDIR" ? "it is a directory" : String(code);
}
