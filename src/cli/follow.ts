/**
 * Follows a growing file like `tail -F`: waits at its end; reads a replaced file to its end before the new one from its start;
 * rereads a truncated file; and waits for one that is missing or unreadable.
 */

import { type FileHandle, open, stat } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { whyUnreadable } from "./file-input.ts";

/** Interval between two checks of the file, in milliseconds. */
const CHECK_MS = 500;
const PIECE_BYTES = 64 << 10;

/**
 * Yields new text of the file at `path`. For an existing file it begins with the first line that is completely within the last
 * `fromEnd` bytes. Ends with the signal. `onWaiting` is called with the reason why there is nothing to read, and with
 * `undefined` once there is.
 */
export async function* follow(
  path: string,
  fromEnd: number,
  signal: AbortSignal,
  onWaiting: (reason: string | undefined) => void = () => {},
): AsyncGenerator<string> {
  let isFirst = true;
  while (!signal.aborted) {
    const file = await openIfReadable(path);
    onWaiting(typeof file === "string" ? file : undefined);
    if (typeof file !== "string") {
      try {
        yield* readWhileNamed(path, file, isFirst ? fromEnd : undefined, signal);
      } finally {
        await file.close();
      }
    }
    isFirst = false;
    await waitForChange(signal);
  }
}

/** Opens the file. Returns a text with the reason if it cannot be read. */
async function openIfReadable(path: string): Promise<FileHandle | string> {
  try {
    const file = await open(path);
    if (!(await file.stat()).isDirectory()) return file;
    await file.close();
    return "it is a directory";
  } catch (error) {
    return whyUnreadable(error);
  }
}

/** Yields new text until the name belongs to another file or to none, and this file has been read to its end. */
async function* readWhileNamed(
  path: string,
  file: FileHandle,
  fromEnd: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { ino, size: sizeAtFirst } = await file.stat();
  // Reads one byte more than requested, to see whether a line begins exactly at the requested position.
  let at = fromEnd === undefined ? 0 : Math.max(0, sizeAtFirst - fromEnd - 1);
  let isInLine = at > 0;
  let decoder = new TextDecoder();
  const piece = new Uint8Array(PIECE_BYTES);
  while (!signal.aborted) {
    const isNamed = (await stat(path).catch(() => undefined))?.ino === ino;
    const { size } = await file.stat();
    if (size < at) {
      [at, isInLine, decoder] = [0, false, new TextDecoder()];
    }
    while (at < size && !signal.aborted) {
      const { bytesRead } = await file.read(piece, 0, Math.min(PIECE_BYTES, size - at), at);
      if (bytesRead === 0) break;
      at += bytesRead;
      const bytes = piece.subarray(0, bytesRead);
      const begin = isInLine ? bytes.indexOf(LINE_END) + 1 : 0;
      if (isInLine && begin === 0) continue;
      isInLine = false;
      const text = decoder.decode(bytes.subarray(begin), { stream: true });
      if (text !== "") yield text;
    }
    if (!isNamed) return;
    await waitForChange(signal);
  }
}

const LINE_END = 0x0a;

const waitForChange = (signal: AbortSignal): Promise<void> =>
  pause(CHECK_MS, undefined, { signal }).catch(() => undefined);
