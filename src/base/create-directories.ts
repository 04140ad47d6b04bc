/** Creates a directory with its missing parents. */

import { lstatSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Creates a directory and its missing parents, and leaves existing ones as they are. Throws the system's error.
 *
 * `mkdir` of Node.js with `recursive` never returns where a file system answers ENOENT below an existing directory, as autofs and
 * /proc do, and its memory grows until the process is killed.
 */
export function createDirectories(path: string, mode: number): void {
  const missing: string[] = [];
  for (let at = resolve(path); !isDirectory(at); at = dirname(at)) {
    missing.unshift(at);
    if (dirname(at) === at) break;
  }
  for (const each of missing) createDirectory(each, mode);
}

function createDirectory(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have created it in the meantime.
    if (isDirectory(path)) return;
    const blocker = blockerOf(path);
    throw blocker === undefined ? error : Object.assign(new Error(blocker), { code: "ENOTDIR" });
  }
}

/** Says what is in the place of a directory; `undefined` if nothing is. */
function blockerOf(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  return found.isSymbolicLink() && statSync(path, { throwIfNoEntry: false }) === undefined
    ? `${path} is a symbolic link to something that does not exist`
    : `${path} is not a directory`;
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    // A parent is a file, which is then the first entry that cannot be created.
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return false;
    throw error;
  }
}
