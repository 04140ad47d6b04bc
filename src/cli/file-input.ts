/** A file of the command line that is to be read: looked at before anything is asked of the gateway. */

import { createReadStream, type ReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { clip, UsageError } from "./flags.ts";
import { type Io, resolvePath } from "./io.ts";

export interface FileInput {
  /** Not so of a pipe, which is read once and has no size. */
  readonly isRegular: boolean;
  readonly size: number;
  /** The first bytes of a regular file. */
  readonly head: Buffer;
  /** The whole content. */
  open(): ReadStream;
}

const HEAD_BYTES = 16;

/** Throws `UsageError` when there is none that can be read. */
export async function readInput(io: Io, path: string): Promise<FileInput> {
  const whole = resolvePath(io, path);
  const openStream = (): ReadStream => createReadStream(whole, { signal: io.signal });
  try {
    await using file = await open(whole);
    const stat = await file.stat();
    if (stat.isDirectory()) throw new UsageError(`'${clip(path)}' is a directory`);
    const { buffer, bytesRead } = stat.isFile()
      ? await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
      : { buffer: Buffer.alloc(0), bytesRead: 0 };
    const { size } = stat;
    return { isRegular: stat.isFile(), size, head: buffer.subarray(0, bytesRead), open: openStream };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`'${clip(path)}' cannot be read: ${whyUnreadable(error)}`);
  }
}

/** Of what opening a file failed with. */
export function whyUnreadable(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" ? "there is no such file" : code === "EACCES" ? "permission denied" : String(code);
}
