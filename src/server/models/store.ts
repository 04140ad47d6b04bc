/**
 * Store of models: resolves declarations, fetches and verifies files, and creates views. Source: design decisions,
 * section 12.
 */

import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { mapWithLimit } from "../../base/index.ts";
import { LOCK_TIMES, type LockTimes } from "./cache/cache-lock.ts";
import { type Layout, layoutOf, makeFolders, toStorageError } from "./cache/layout.ts";
import { readManifest, writeManifest } from "./cache/manifest-file.ts";
import { createView, isViewComplete, viewIdOf, viewOf } from "./cache/model-view.ts";
import { deleteOldPartialFiles } from "./cache/part.ts";
import { declaredManifest } from "./declared.ts";
import { readExternalDataPaths } from "./external-data.ts";
import { type DownloadSource, ensureInCache } from "./fetch/download.ts";
import { type RetryTiming, systemRetryTiming } from "./fetch/fetch-attempts.ts";
import { openTransport, TRANSPORT_LIMITS, type TransportOptions } from "./fetch/hub-transport.ts";
import { chooseManifest, endpointOf, likelyExternalData } from "./hub/choose.ts";
import { listRepository } from "./hub/listing.ts";
import { sizeProblem } from "./limits.ts";
import { ModelError } from "./model-error.ts";
import type { EnsureOptions, Manifest, ManifestFile, ModelDeclaration, ModelStore, ModelView } from "./types.ts";

/** Maximum number of files of one model fetched at once. */
const CONCURRENT_FILES = 4;
/** Disk space that stays free, since other programs write to the same disk. */
const SPARE_BYTES = 64 << 20;

export interface StoreOptions extends Partial<Omit<TransportOptions, "userAgent">> {
  /** `cache_dir`, as an absolute path. Created by the first fetch. */
  readonly directory: string;
  /** Product and version, sent to hubs. */
  readonly userAgent: string;
  /** Returns the current time, in milliseconds since 1970. */
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly waiting?: RetryTiming;
  readonly lockTimes?: Partial<Pick<LockTimes, "pollMs" | "deadAfterMs" | "maxWaitMs">>;
}

export interface OpenStore extends ModelStore {
  readonly directory: string;
  close(): Promise<void>;
}

export function openModelStore(options: StoreOptions): OpenStore {
  const layout = layoutOf(options.directory);
  const { waiting = systemRetryTiming, monotonic } = options;
  const lockTimes: LockTimes = { ...LOCK_TIMES, ...options.lockTimes, monotonic, wait: waiting.wait };
  const transport = openTransport({ ...TRANSPORT_LIMITS, ...options });
  /** Declaration of each manifest, for credentials and names of graphs, which manifests do not contain. */
  const declarations = new WeakMap<Manifest, ModelDeclaration>();

  const known: ModelStore["known"] = async (model, parts) => {
    const { hub, name } = model;
    const manifest = hub === undefined ? declaredManifest(model, parts) : await readManifest(layout, name, hub, parts);
    if (manifest !== undefined) declarations.set(manifest, model);
    return manifest;
  };

  const cached = async (
    manifest: Manifest,
    remembers: boolean,
    signal?: AbortSignal,
  ): Promise<ModelView | undefined> => {
    const id = viewIdOf(manifest.files);
    if (id === undefined || !(await isViewComplete(layout, id, manifest.files, remembers, signal))) return undefined;
    return viewOf(layout, id, manifest);
  };

  /** Fetches the missing files of `files` and returns all of them with their digests in the cache. */
  const ensureFiles = async (
    files: readonly ManifestFile[],
    source: DownloadSource,
    { signal, onBytes }: { readonly signal: AbortSignal; readonly onBytes: (bytes: number) => void },
  ): Promise<readonly ManifestFile[]> => {
    return mapWithLimit(files, CONCURRENT_FILES, signal, async (file, fileSignal) => {
      const hex = await ensureInCache(file, source, { signal: fileSignal, onBytes });
      return { ...file, digest: { kind: "sha256", hex } };
    });
  };

  const fetchAll = async (manifest: Manifest, { signal, onProgress }: EnsureOptions): Promise<ModelView> => {
    const declaration = declarations.get(manifest);
    const { hub } = manifest;
    await makeFolders(layout);
    await deleteOldPartialFiles(layout.parts, options.now()).catch(() => undefined);
    const source: DownloadSource = {
      transport,
      waiting,
      lockTimes,
      layout,
      token: declaration?.hub?.token || undefined,
      commit: hub?.commit,
    };
    const graph = manifest.files.find(({ role }) => role === "graph");
    const likely = graph === undefined ? [] : likelyExternalData(graph.path, manifest.candidates);
    let total = totalBytes([...manifest.files, ...likely]);
    let done = 0;
    await checkSpace(layout, total);
    const onBytes = (more: number): void => {
      done += more;
      onProgress?.({ done, total });
    };
    const first = await ensureFiles(manifest.files, source, { signal, onBytes });
    const data = await findExternalData(layout, first, manifest, signal);
    total = totalBytes([...first, ...data]);
    if (data.length > 0) await checkSpace(layout, totalBytes(data));
    const files = [...first, ...(await ensureFiles(data, source, { signal, onBytes }))];
    const complete: Manifest = { ...manifest, files, candidates: [] };
    const id = viewIdOf(files);
    if (id === undefined) throw new Error("a downloaded file has no digest");
    await createView(layout, id, files);
    await writeManifest(layout, complete, declaration?.hub?.model);
    return viewOf(layout, id, complete);
  };

  return {
    directory: options.directory,
    known,
    async resolve(model, parts, signal) {
      const cachedManifest = await known(model, parts);
      if (cachedManifest !== undefined || model.hub === undefined)
        return cachedManifest ?? declaredManifest(model, parts);
      const { hub } = model;
      const endpoint = endpointOf(hub);
      const hubConnection = { transport, waiting, endpoint, token: hub.token || undefined };
      const listing = await listRepository(hubConnection, hub.repo, hub.revision, signal);
      const manifest = chooseManifest({ name: model.name, hub }, parts, listing);
      declarations.set(manifest, model);
      return manifest;
    },
    cached: (manifest, options) => cached(manifest, options?.remembers ?? false),
    async ensure(manifest, ensureOptions) {
      try {
        return (await cached(manifest, true, ensureOptions.signal)) ?? (await fetchAll(manifest, ensureOptions));
      } catch (error) {
        ensureOptions.signal.throwIfAborted();
        throw withModelName(manifest, toStorageError(layout.root, error));
      }
    },
    close: () => transport.close(),
  };
}

const totalBytes = (files: readonly ManifestFile[]): number => files.reduce((sum, { size }) => sum + size, 0);

function withModelName({ model }: Manifest, error: unknown): unknown {
  if (!(error instanceof ModelError) || error.message.startsWith("model ")) return error;
  const { fault, message, retryAfterMs } = error;
  return new ModelError(fault, `model ${model}: ${message}`, { cause: error, retryAfterMs });
}

/** Returns the external data files of the graph that are not among `files` yet. */
async function findExternalData(
  layout: Layout,
  files: readonly ManifestFile[],
  { candidates, hub }: Manifest,
  signal: AbortSignal,
): Promise<readonly ManifestFile[]> {
  const graph = files.find(({ role }) => role === "graph");
  if (graph === undefined) return [];
  const presentPaths = new Set(files.map(({ path }) => path));
  const paths = await readExternalDataPaths(join(layout.blobs, graph.digest.hex), graph.path, signal);
  const data = paths
    .filter((path) => !presentPaths.has(path))
    .map((path) => {
      const found = candidates.find((candidate) => candidate.path === path);
      if (found !== undefined) return found;
      const where = hub === undefined ? "`files` (role `external_data`)" : `${hub.repo} at this commit`;
      throw new ModelError("absent", `the graph keeps data in ${JSON.stringify(path)}, which is not in ${where}`);
    });
  const problem = sizeProblem([...files, ...data]);
  if (problem !== undefined) throw new ModelError("refused", problem);
  return data;
}

/** Checks the free disk space. `bytes`: size of all files. Files already in the cache need no space. */
async function checkSpace(layout: Layout, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(layout.root);
  const free = bavail * bsize;
  if (free >= bytes + SPARE_BYTES) return;
  throw new ModelError(
    "storage",
    `cache_dir ${layout.root}: ${free} bytes are free, and ${bytes} are needed with ${SPARE_BYTES} to spare`,
  );
}
