/** Inventory of a model cache: what it holds, what is in use, and what can be removed. Everything can be fetched again. */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { layoutOf } from "./cache/layout.ts";
import { manifestName } from "./cache/manifest-file.ts";
import { viewIdOf } from "./cache/model-view.ts";
import { ModelError } from "./model-error.ts";
import type { ModelNeed } from "./model-needs.ts";
import type { ModelStore } from "./types.ts";

/** Age in milliseconds below which a lock belongs to a running download. */
const LIVE_LOCK_MS = 60_000;

interface ModelInCache {
  readonly name: string;
  /** Size in bytes; `undefined` if it is not known on this node. */
  readonly size: number | undefined;
  readonly isCached: boolean;
}

interface UnusedEntry {
  /** Path relative to the cache. */
  readonly path: string;
  /** Bytes that removing this frees: 0 for a view, whose files are links. */
  readonly size: number;
}

export interface CacheInventory {
  readonly models: readonly ModelInCache[];
  readonly unused: readonly UnusedEntry[];
}

/** Takes inventory of the cache. `needs`: models in use. Uses no network and writes nothing. */
export async function readCacheInventory(
  store: ModelStore & { readonly directory: string },
  needs: readonly ModelNeed[],
): Promise<CacheInventory> {
  const layout = layoutOf(store.directory);
  const used = new Set<string>();
  const models: ModelInCache[] = [];
  for (const { model, parts } of needs) {
    const manifest = await store.known(model, parts);
    const view = manifest && (await store.cached(manifest));
    const size = manifest?.files.reduce((sum, file) => sum + file.size, 0);
    models.push({ name: model.name, size, isCached: view !== undefined });
    if (manifest === undefined) continue;
    for (const { digest } of manifest.files) used.add(digest.hex).add(`part ${digest.hex}`);
    const id = viewIdOf(manifest.files);
    if (id !== undefined) used.add(id).add(`${id}.json`);
    if (model.hub !== undefined) used.add(manifestName(manifest, model.hub.model));
  }
  const unused = [
    ...(await unusedIn(layout.root, "sha256", (name) => used.has(name), true)),
    ...(await unusedIn(layout.root, "views", (name) => used.has(name), false)),
    ...(await unusedIn(layout.root, "manifests", (name) => used.has(name), true)),
    ...(await unusedIn(layout.root, "parts", (name) => used.has(`part ${name.split(".")[0]}`), true)),
    ...(await unusedIn(layout.root, "locks", () => false, true)),
  ];
  return { models, unused };
}

async function unusedIn(
  root: string,
  folder: string,
  isUsed: (name: string) => boolean,
  countsSize: boolean,
): Promise<readonly UnusedEntry[]> {
  const names = await readdir(join(root, folder)).catch(() => []);
  const unusedNames = names.filter((name) => !isUsed(name)).sort();
  return Promise.all(
    unusedNames.map(async (name) => {
      const path = join(folder, name);
      const size = countsSize ? ((await stat(join(root, path)).catch(() => undefined))?.size ?? 0) : 0;
      return { path, size };
    }),
  );
}

/**
 * Removes unused entries. Views are removed before contents, so that no incomplete view remains. Rejects with
 * `ModelError` while a download is running. `now`: milliseconds since 1970.
 */
export async function removeUnused(directory: string, unused: readonly UnusedEntry[], now: number): Promise<void> {
  const { locks } = layoutOf(directory);
  for (const name of await readdir(locks).catch(() => [])) {
    const touched = await stat(join(locks, name)).catch(() => undefined);
    if (touched !== undefined && now - touched.mtimeMs < LIVE_LOCK_MS) {
      throw new ModelError(
        "storage",
        `cache_dir ${directory}: a model is being downloaded into it; try again when the download has finished`,
      );
    }
  }
  const isView = ({ path }: UnusedEntry): boolean => path.startsWith("views/");
  for (const { path } of [...unused.filter(isView), ...unused.filter((one) => !isView(one))]) {
    await rm(join(directory, path), { recursive: true, force: true });
  }
}
