/** Inspects the data directory of a stopped node without changing it. */

import { resolve } from "node:path";
import { openExisting } from "../storage/index.ts";
import { copyDirectory } from "./copy-directory.ts";
import { factsOf, readState, type StorageFacts } from "./storage-facts.ts";

/**
 * Checks everything that the node would check at its start. Rejects with a `StorageError`: `locked` while the node runs;
 * `damaged` or `forgot` for a directory that cannot be used for a recovery.
 */
export async function inspectStorage(dir: string): Promise<StorageFacts> {
  const path = resolve(dir);
  const copy = await copyDirectory(path);
  try {
    const storage = await openExisting({ path: copy.path, displayPath: path, nodeId: undefined, warnings: [] });
    try {
      await readState(path, storage);
      return factsOf(path, storage);
    } finally {
      await storage.close();
    }
  } finally {
    await copy.remove();
  }
}
