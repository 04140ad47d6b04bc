/** Location of a node's model cache. Source: specification document 2, `cache_dir`; design decisions, section 12. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { systemClock } from "../../base/index.ts";
import type { NodeFile } from "../core/config/index.ts";
import {
  type ModelNeed,
  type ModelStatus,
  type ModelSupply,
  type ModelView,
  modelNeeds,
  openModelStore,
} from "../models/index.ts";
import type { CompiledSources } from "./configuration/compile-sources.ts";
import { resolveBeside } from "./configuration/read-configuration-files.ts";

const DEFAULT_DIRECTORY = "/gateway";

/**
 * Returns the absolute path of the model cache, without creating it. `path` is the node file's. If the node has no data directory
 * and the default directory is not writable, returns the default anyway, and its user gets the error.
 */
export async function modelCacheDirectory({ cache_dir: named, cluster }: NodeFile, path: string): Promise<string> {
  if (named !== undefined) return resolve(resolveBeside(path, named));
  const usual = await defaultCacheDirectory();
  if (usual !== undefined || cluster.data_dir === undefined) return usual ?? DEFAULT_DIRECTORY;
  return resolve(resolveBeside(path, cluster.data_dir), "cache");
}

/** Returns the default directory; `undefined` if this user cannot write to it. */
export async function defaultCacheDirectory(directory = DEFAULT_DIRECTORY): Promise<string | undefined> {
  const isThere = await stat(directory).then(
    (found) => found.isDirectory(),
    (error: NodeJS.ErrnoException) => (error.code === "ENOENT" ? undefined : false),
  );
  if (isThere === false) return undefined;
  const writableDirectory = isThere === true ? directory : dirname(directory);
  return access(writableDirectory, constants.W_OK | constants.X_OK).then(
    () => join(directory),
    () => undefined,
  );
}

export type Views = ReadonlyMap<string, ModelView>;

/**
 * Returns the models in the cache of a node, which need not be running. Makes no network calls and writes nothing. `path` is
 * the node file's.
 */
export async function cachedViews(nodeFile: NodeFile, path: string, needs: readonly ModelNeed[]): Promise<Views> {
  const store = openModelStore({
    directory: await modelCacheDirectory(nodeFile, path),
    userAgent: "gateway",
    now: systemClock.now,
    monotonic: systemClock.monotonic,
  });
  try {
    const found = new Map<string, ModelView>();
    for (const { model, parts } of needs) {
      const manifest = await store.known(model, parts).catch(() => undefined);
      const view = manifest && (await store.cached(manifest));
      if (view !== undefined) found.set(model.name, view);
    }
    return found;
  } finally {
    await store.close();
  }
}

export const modelStatusOf = ({ name, state, done, total, message }: ModelStatus) => ({
  name,
  state,
  bytes: done,
  total_bytes: total ?? null,
  message: message ?? null,
});

const NO_VIEWS: Views = new Map();

interface CompiledFromCache {
  readonly sources: CompiledSources;
  /** Needed models, in the cache or not. */
  readonly needs: readonly ModelNeed[];
}

/** Compiles with the models of the cache, which is read only if some are needed. */
export async function compileFromCache(
  supply: Pick<ModelSupply, "cachedViews">,
  make: (models: Views) => CompiledSources,
  signal: AbortSignal,
): Promise<CompiledFromCache> {
  const sources = make(NO_VIEWS);
  const { document } = sources.deployment;
  if (sources.compiled.kind !== "awaits" || document === undefined) return { sources, needs: [] };
  const needs = modelNeeds(document);
  const views = await supply.cachedViews(needs, signal);
  return { sources: views.size === 0 ? sources : make(views), needs };
}
