/** Names of files as a shell completes them: from the last slash on, hidden ones only where a dot is typed. */

import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Io, resolvePath } from "./io.ts";

/** Entries of a folder that are looked at; of what is found. */
const MOST_LOOKED = 10_000;
const MOST_FOUND = 500;

/** Paths spelled as `text` is, folders with a slash at their end, by name; none where it cannot be looked. */
export async function completePath(io: Io, text: string, signal: AbortSignal): Promise<readonly string[]> {
  const cut = text.lastIndexOf("/") + 1;
  const [folder, begun] = [text.slice(0, cut), text.slice(cut)];
  const path = resolvePath(io, folder === "" ? "." : folder);
  const found: string[] = [];
  try {
    let looked = 0;
    for await (const entry of await opendir(path)) {
      looked += 1;
      if (signal.aborted || looked > MOST_LOOKED || found.length === MOST_FOUND) break;
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
