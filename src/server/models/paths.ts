/**
 * Checks paths inside a model, which are untrusted: each must name a file below the model's folder, and mean the same
 * on every system.
 */

const MAX_PATH_LENGTH = 512;
const MAX_DEPTH = 16;

/**
 * Allowed segment: letters and digits of any script and common punctuation of file names. It excludes separators and
 * characters that are special to shells or drives.
 */
const SEGMENT = /^[\p{L}\p{N}_+=@,()[\] .-]+$/u;

/** Returns whether a path is relative and uses `/`, without `..`, empty segments, hidden names or device names. */
export function isInnerPath(path: string): boolean {
  if (path.length === 0 || path.length > MAX_PATH_LENGTH) return false;
  const segments = path.split("/");
  return (
    segments.length <= MAX_DEPTH &&
    segments.every((segment) => SEGMENT.test(segment) && !/^\.+$/.test(segment) && !/^ | $/.test(segment))
  );
}

/** Returns the folder of a path; empty at the top. */
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

export const joinPath = (folder: string, name: string): string => (folder === "" ? name : `${folder}/${name}`);

/** Returns the folder, then each of its parents up to the top. */
export function foldersUpwards(folder: string): readonly string[] {
  const found = [folder];
  for (let at = folder; at !== ""; ) {
    at = folderOf(at);
    found.push(at);
  }
  return found;
}
