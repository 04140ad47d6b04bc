/**
 * Writes files that survive a crash complete: each is written beside its name, synced and renamed, and then its
 * directory is synced.
 */

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { createDirectories } from "../../base/index.ts";
import { systemCode } from "./audit-error.ts";

/** Suffix of an unfinished file, which is removed at the next start. */
export const UNFINISHED_SUFFIX = ".new";

/** Replaces a file, readable by its owner only. Returns its descriptor, positioned at its end. */
export function replaceFile(path: string, bytes: Uint8Array): number {
  const unfinished = `${path}${UNFINISHED_SUFFIX}`;
  rmSync(unfinished, { force: true });
  const fd = openSync(unfinished, "wx", 0o600);
  try {
    writeFully(fd, bytes);
    fsyncSync(fd);
    renameSync(unfinished, path);
    syncDirectory(dirname(path));
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Syncs a directory, which makes a new name in it durable. */
export function syncDirectory(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Writes all bytes to a file on disk. */
export function writeFully(fd: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written, bytes.length - written);
}

/** Reads a file of at most `maxBytes`; `undefined` if it is missing. */
export function readIfPresent(path: string, maxBytes: number): Buffer | undefined {
  try {
    const { size } = statSync(path);
    if (size > maxBytes) throw new Error(`it has ${size} bytes; the gateway writes at most ${maxBytes}`);
    return readFileSync(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

export const createDirectory = (path: string): void => createDirectories(path, 0o700);
