/** Paths inside a model, which a stranger wrote: each names a file below the model's folder, and is the same on every system. */

const LONGEST = 512;
const DEEPEST = 16;

/** Letters and digits of any script, and what file names use; no separator but `/`, nothing that a shell or a drive reads. */
const SEGMENT = /^[\p{L}\p{N}_+=@,()[\] .-]+$/u;

/** Relative, with `/` between, without a step up, an empty step or a name that hides or means a device. */
export function isInnerPath(path: string): boolean {
  if (path.length === 0 || path.length > LONGEST) return false;
  const segments = path.split("/");
  return (
    segments.length <= DEEPEST &&
    segments.every((segment) => SEGMENT.test(segment) && !/^\.+$/.test(segment) && !/^ | $/.test(segment))
  );
}

/** Returns the folder of a path; empty at the top. */
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

export const below = (folder: string, name: string): string => (folder === "" ? name : `${folder}/${name}`);

/** The folder, then each above it up to the top. */
export function upwards(folder: string): readonly string[] {
  const found = [folder];
  for (let at = folder; at !== ""; ) {
    at = folderOf(at);
    found.push(at);
  }
  return found;
}
