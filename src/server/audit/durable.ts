/** Files that are whole after a crash: written beside their name, synced, renamed, and the directory synced. */

import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { systemCode } from "./audit-error.ts";

/** Suffix of an unfinished file, which is removed at the next start. */
export const UNFINISHED = ".new";

/** Created for its owner alone. Returns the open file, at its end. */
export function replaceFile(path: string, bytes: Uint8Array): number {
  const unfinished = `${path}${UNFINISHED}`;
  rmSync(unfinished, { force: true });
  const fd = openSync(unfinished, "wx", 0o600);
  try {
    writeWhole(fd, bytes);
    fsyncSync(fd);
    renameSync(unfinished, path);
    syncDirectory(dirname(path));
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** A name is durable only once its directory is synced. */
export function syncDirectory(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Writes all bytes to a file on disk. */
export function writeWhole(fd: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written, bytes.length - written);
}

/** Returns `undefined` if the file is missing. */
export function readIfThere(path: string, maxBytes: number): Buffer | undefined {
  try {
    const { size } = statSync(path);
    if (size > maxBytes) throw new Error(`it has ${size} bytes; the gateway writes at most ${maxBytes}`);
    return readFileSync(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

export function createDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}
