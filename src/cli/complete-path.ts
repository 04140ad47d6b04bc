/** Completes file names as a shell does: only the part after the last slash, and hidden files only if a dot is typed. */

import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Io, resolvePath } from "./process-io.ts";

/** Maximum number of folder entries that are read, and of names that are returned. */
const MAX_READ = 10_000;
const MAX_FOUND = 500;

/**
 * Returns the matching paths, sorted and with the same prefix as `text`. Folders end with a slash. Returns none if the
 * folder cannot be read.
 */
export async function completePath(io: Io, text: string, signal: AbortSignal): Promise<readonly string[]> {
  const cut = text.lastIndexOf("/") + 1;
  const [folder, begun] = [text.slice(0, cut), text.slice(cut)];
  const path = resolvePath(io, folder === "" ? "." : folder);
  const found: string[] = [];
  try {
    let looked = 0;
    for await (const entry of await opendir(path)) {
      looked += 1;
      if (signal.aborted || looked > MAX_READ || found.length === MAX_FOUND) break;
      const { name } = entry;
      if (!name.startsWith(begun) || (name.startsWith(".") && !begun.startsWith("."))) continue;
      const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && (await isDirectory(join(path, name))));
      found.push(folder + name + (isFolder ? "/" : ""));
    }
  } catch {
    // A missing or unreadable folder offers no names; the verb reports it for the typed path.
  }
  return found.sort();
}

const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then(
    (it) => it.isDirectory(),
    () => false,
  );
