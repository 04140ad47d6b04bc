/**
 * File `removed` of a data directory: the cluster has removed this node, as of an entry of its log. A restart reads it, so that
 * a removed node does not serve again from outdated rows. The file is one line, the index in decimal; builds that do not know
 * it ignore it.
 */

import { open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, damaged, unwritable } from "../storage-error.ts";
import { syncDirectory, UNFINISHED_SUFFIX } from "./directory.ts";

const NAME = "removed";

/** Returns the index, or `undefined` if the directory has no such file. Throws a `StorageError` if it cannot be read. */
export async function readRemoval(path: string, displayPath: string): Promise<number | undefined> {
  let text: string;
  try {
    text = await readFile(join(path, NAME), "utf8");
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return undefined;
    throw unwritable(displayPath, cause);
  }
  const index = /^\d{1,15}\n?$/.test(text) ? Number(text) : undefined;
  if (index === undefined) throw damaged(displayPath, `its file ${NAME} holds no index`);
  return index;
}

/** Writes the file, or removes it for `undefined`. Durable once resolved. Throws a `StorageError`. */
export async function writeRemoval(path: string, displayPath: string, index: number | undefined): Promise<void> {
  const file = join(path, NAME);
  try {
    if (index === undefined) {
      await rm(file, { force: true });
    } else {
      const unfinished = `${file}${UNFINISHED_SUFFIX}0`;
      const handle = await open(unfinished, "w", 0o600);
      try {
        await handle.writeFile(`${index}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(unfinished, file);
    }
    await syncDirectory(path);
  } catch (cause) {
    throw unwritable(displayPath, cause);
  }
}
