/** Lists the models in a node's cache, and which of them its configuration uses. */

import { escapeControls } from "../../base/index.ts";
import { type CacheInventory, modelNeeds, openModelStore, readCacheInventory } from "../../server/models/index.ts";
import { composeNode, modelCacheDirectory } from "../../server/node/index.ts";
import { buildOf } from "../build.ts";
import { type Io, resolvePath } from "../process-io.ts";

interface NodeInventory extends CacheInventory {
  /** Absolute path of `cache_dir`. */
  readonly directory: string;
  /** False if the configuration arrives through the admin API, and so is unknown here. */
  readonly isKnown: boolean;
}

/** Returns the inventory of the cache; `undefined` if the configuration cannot be read, with the reason on stderr. */
export async function inventoryOf(config: string, io: Io): Promise<NodeInventory | undefined> {
  const path = resolvePath(io, config);
  const composed = await composeNode(path, io.env);
  if (composed.kind === "refused") {
    for (const problem of composed.problems) io.stderr.write(`${escapeControls(problem)}\n`);
    return undefined;
  }
  const { nodeFile, document } = composed;
  const directory = await modelCacheDirectory(nodeFile, path);
  const store = openModelStore({
    directory,
    userAgent: `gateway/${buildOf().version}`,
    now: () => io.now(),
    monotonic: () => performance.now(),
  });
  try {
    const inventory = await readCacheInventory(store, document === undefined ? [] : modelNeeds(document));
    return { ...inventory, directory, isKnown: nodeFile.deployment !== undefined };
  } finally {
    await store.close();
  }
}
