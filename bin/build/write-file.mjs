/** Writes files of dist/, which running processes may have open: a native library that changes under a process ends it. */

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Does nothing if the file has the content; otherwise replaces it at once. */
export function writeFile(path, content) {
  const bytes = Buffer.from(content);
  if (existsSync(path) && readFileSync(path).equals(bytes)) return;
  mkdirSync(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}.tmp`;
  writeFileSync(unfinished, bytes);
  renameSync(unfinished, path);
}
