/** Copies bytes between a verb's streams and a call, with backpressure and size limits. */

import type { Readable, Writable } from "node:stream";
import { UsageError } from "./parse-flags.ts";
import type { Io } from "./process-io.ts";

/**
 * Writes the parts to the stream. Rejects with the signal's reason when the verb is interrupted, for example because
 * the reader of stdout has closed it.
 */
export async function writeAll(
  stream: Writable,
  parts: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  signal: AbortSignal,
): Promise<void> {
  for await (const part of parts) {
    signal.throwIfAborted();
    if (!stream.write(part)) await whenDrained(stream, signal);
  }
  signal.throwIfAborted();
}

function whenDrained(stream: Writable, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      stream.off("drain", settle).off("close", settle);
      signal.removeEventListener("abort", settle);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    stream.once("drain", settle).once("close", settle);
    signal.addEventListener("abort", settle, { once: true });
  });
}

/** Reads a stream to its end. Throws `UsageError`, which calls it `what`, if it has more than `limit` bytes. */
export async function readAll(stream: Readable, limit: number, subject: string, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of untilAborted(stream, signal)) {
    length += chunk.length;
    if (length > limit) throw new UsageError(`${subject} is over ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Yields the chunks of the stream until it ends, or destroys it when the signal aborts: stdin from a keyboard would
 * never end.
 */
export async function* untilAborted(stream: Readable, signal: AbortSignal): AsyncGenerator<Buffer> {
  const end = (): void => void stream.destroy(signal.reason);
  if (signal.aborted) end();
  signal.addEventListener("abort", end, { once: true });
  try {
    for await (const chunk of stream) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** Joins lines to chunks of 64 KiB, since one system call per line would make long tables slow. */
export function* joinLines(lines: Iterable<string>): Generator<string> {
  let text = "";
  for (const line of lines) {
    text += line;
    if (text.length < 64 << 10) continue;
    yield text;
    text = "";
  }
  if (text !== "") yield text;
}

/** Returns stdin for the argument `-`. On a terminal, it first prints that it reads `what` from there. */
export function stdinOf(io: Io, subject: string): Readable {
  if (io.isTerminal("stdin")) io.stderr.write(`Reading ${subject} from the terminal; Ctrl-D ends it.\n`);
  return io.stdin;
}
