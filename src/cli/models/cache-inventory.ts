/** The cache of a node's models, and what its configuration uses of it. */

import { escapeControls } from "../../base/index.ts";
import { modelNeeds, openModelStore, type Stock, takeStock } from "../../server/models/index.ts";
import { composeNode, modelCacheOf } from "../../server/node/index.ts";
import { buildOf } from "../build.ts";
import { type Io, resolvePath } from "../io.ts";

interface NodeStock extends Stock {
  /** `cache_dir`, absolute. */
  readonly directory: string;
  /** Whether the configuration is known here: one that arrives through the admin API is not. */
  readonly isKnown: boolean;
}

/** Returns `undefined` if the configuration cannot be read; stderr then says why. */
export async function stockOf(config: string, io: Io): Promise<NodeStock | undefined> {
  const path = resolvePath(io, config);
  const composed = await composeNode(path, io.env);
  if (composed.kind === "refused") {
    for (const problem of composed.problems) io.stderr.write(`${escapeControls(problem)}\n`);
    return undefined;
  }
  const { nodeFile, document } = composed;
  const directory = await modelCacheOf(nodeFile, path);
  const store = openModelStore({
    directory,
    userAgent: `gateway/${buildOf().version}`,
    now: () => io.now(),
    monotonic: () => performance.now(),
  });
  try {
    const stock = await takeStock(store, document === undefined ? [] : modelNeeds(document));
    return { ...stock, directory, isKnown: nodeFile.deployment !== undefined };
  } finally {
    await store.close();
  }
}
