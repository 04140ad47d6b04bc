/**
 * Gets the models that a document's detectors refer to from the cache, or downloads them into it. Source: specification
 * document 1, "gateway guardrails eval" (models fetched and verified).
 */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { escapeControls } from "../../base/index.ts";
import { readForwardProxies } from "../../server/forward-proxy/index.ts";
import {
  ModelError,
  type ModelNeed,
  type ModelView,
  type OpenStore,
  openModelStore,
} from "../../server/models/index.ts";
import type { ReadGuardrails } from "../../server/node/index.ts";
import { buildOf } from "../build.ts";
import type { Io } from "../process-io.ts";
import { progressLine, sizeText } from "../progress-line.ts";

type ObtainedModels =
  | { readonly kind: "obtained"; readonly views: ReadonlyMap<string, ModelView> }
  /** Problems, one line each. */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** Gets the models. Rejects with the signal's reason; downloads that finished before stay in the cache. */
export async function obtainModels(
  { needs, tokens, cacheDirectory }: Extract<ReadGuardrails, { kind: "read" }>,
  io: Io,
): Promise<ObtainedModels> {
  const views = new Map<string, ModelView>();
  if (needs.length === 0) return { kind: "obtained", views };
  const directory = cacheDirectory ?? cacheFromEnvironment(io);
  if (directory === undefined) {
    return refused(["there is no directory for models: set HOME, XDG_CACHE_HOME or `cache_dir`"]);
  }
  const store = openModelStore({
    directory,
    userAgent: `gateway/${buildOf().version}`,
    now: () => io.now(),
    monotonic: () => performance.now(),
    proxies: readForwardProxies(io.env).proxies,
  });
  try {
    const missing: string[] = [];
    for (const need of needs) {
      const view = await cachedModels(store, need, io.signal);
      if (view === undefined) missing.push(need.model.name);
      else views.set(need.model.name, view);
    }
    if (missing.length === 0) return { kind: "obtained", views };
    const whole = tokens();
    if (whole.kind === "refused") return whole;
    for (const need of whole.needs.filter(({ model }) => missing.includes(model.name))) {
      views.set(need.model.name, await fetchModel(store, need, io));
    }
    return { kind: "obtained", views };
  } catch (error) {
    io.signal.throwIfAborted();
    if (!(error instanceof ModelError)) throw error;
    return refused([error.message]);
  } finally {
    await store.close();
  }
}

async function cachedModels(
  store: OpenStore,
  { model, parts }: ModelNeed,
  signal: AbortSignal,
): Promise<ModelView | undefined> {
  signal.throwIfAborted();
  const manifest = await store.known(model, parts);
  return manifest && (await store.cached(manifest, { remembers: true }));
}

async function fetchModel(store: OpenStore, { model, parts }: ModelNeed, io: Io): Promise<ModelView> {
  const { name, hub } = model;
  const printLine = (line: string): void => void io.stderr.write(`${escapeControls(line)}\n`);
  const manifest = await store.resolve(model, parts, io.signal);
  const size = sizeText(manifest.files.reduce((sum, file) => sum + file.size, 0));
  const from = hub === undefined ? "its listed files" : `${hub.repo}@${hub.revision}`;
  printLine(`model ${name}: ${size} are fetched from ${from} into ${store.directory}`);
  const progress = progressLine(io);
  try {
    return await store.ensure(manifest, {
      signal: io.signal,
      onProgress: ({ done, total }) => progress.show(() => `model ${name}: ${sizeText(done)} of ${sizeText(total)}`),
    });
  } finally {
    progress.clear();
  }
}

/** Returns the cache folder of the user (XDG base directories, "Basics"); a relative path is ignored. */
function cacheFromEnvironment({ env }: Pick<Io, "env">): string | undefined {
  const named = env["XDG_CACHE_HOME"];
  if (named !== undefined && isAbsolute(named)) return join(named, "gateway", "models");
  const home = env["HOME"] || homedir();
  return isAbsolute(home) ? join(home, ".cache", "gateway", "models") : undefined;
}

const refused = (problems: readonly string[]): ObtainedModels => ({ kind: "refused", problems });
