/**
 * Fetches the models that a configuration needs in the background. Callers are answered at once, the old configuration stays in
 * use, and a change is reported when a model arrives. Failures are retried for as long as the model is wanted. Source: design
 * decisions, section 12. Times are in milliseconds.
 */
import { createSemaphore, type Instruments, type Log } from "../../base/index.ts";
import { type RetryTiming, systemRetryTiming } from "./fetch/fetch-attempts.ts";
import { ModelError } from "./model-error.ts";
import type { ModelNeed } from "./model-needs.ts";
import type { ModelStore, ModelView, Progress } from "./types.ts";

/** Maximum number of models fetched at once; the files of each are fetched in parallel too. */
const CONCURRENT_MODELS = 2;
const FIRST_RETRY_MS = 30_000;
const MAX_RETRY_MS = 600_000;
/** Interval between log lines, which are also written at each tenth of the total, at most once a second. */
const LOG_INTERVAL_MS = 10_000;
const MIN_LOG_INTERVAL_MS = 1_000;

export interface ModelStatus {
  readonly name: string;
  readonly state: "ready" | "fetching" | "failed";
  /** Bytes fetched so far. */
  readonly done: number;
  /** Total bytes; `undefined` until the hub has answered. */
  readonly total: number | undefined;
  /** Error of the last attempt; another one follows. `undefined` if none failed. */
  readonly message: string | undefined;
}

export interface ModelSupply {
  /** Returns the models that are in the cache, by name. Uses no network; may read files to verify them. */
  cachedViews(needs: readonly ModelNeed[], signal: AbortSignal): Promise<ReadonlyMap<string, ModelView>>;
  /** Replaces the set of wanted models; missing ones are fetched. */
  setWanted(needs: readonly ModelNeed[]): void;
  wanted(): readonly ModelNeed[];
  /** Returns the state of the wanted models, in their order. */
  status(): readonly ModelStatus[];
  /** Registers a listener that is called when a model has arrived or could not be fetched, but not for progress. */
  onChange(listener: () => void): () => void;
  close(): void;
}

interface SupplyOptions {
  readonly store: ModelStore;
  readonly log: Log;
  readonly monotonic: () => number;
  readonly instruments?: Instruments;
  readonly waiting?: RetryTiming;
}

interface WantedModel {
  readonly need: ModelNeed;
  readonly stop: AbortController;
  status: ModelStatus;
}

/** Identifies the content of a model, independent of its other settings. */
const keyOf = ({ model: { name, hub, files }, parts }: ModelNeed): string => JSON.stringify([name, hub, files, parts]);

export function openModelSupply(options: SupplyOptions): ModelSupply {
  const { store, log, waiting = systemRetryTiming } = options;
  const listeners = new Set<() => void>();
  /** Sizes last seen in the cache. */
  const sizes = new Map<string, number>();
  let wanted = new Map<string, WantedModel>();
  const fetchSemaphore = createSemaphore({ permits: CONCURRENT_MODELS });
  const metrics = options.instruments && metricsOf(options.instruments, () => [...wanted.values()]);

  const notifyListeners = (): void => {
    for (const listener of [...listeners]) listener();
  };

  const fetchOne = async (entry: WantedModel): Promise<void> => {
    const { need, stop } = entry;
    const { name } = need.model;
    const logProgress = createProgressLogger(options, name);
    const startedAt = options.monotonic();
    let lastDone = 0;
    const manifest = await store.resolve(need.model, need.parts, stop.signal);
    const view = await store.ensure(manifest, {
      signal: stop.signal,
      onProgress({ done, total }) {
        entry.status = { name, state: "fetching", done, total, message: undefined };
        if (done > lastDone) metrics?.bytes.with(name).inc(done - lastDone);
        lastDone = done;
        logProgress({ done, total });
      },
    });
    sizes.set(keyOf(need), view.size);
    entry.status = readyStatus(name, view.size);
    log.info("a model is ready", {
      model: name,
      bytes: view.size,
      seconds: Math.round((options.monotonic() - startedAt) / 1_000),
    });
  };

  const fetchUntilCached = async (entry: WantedModel): Promise<void> => {
    const { need, stop } = entry;
    const { name, hub } = need.model;
    const { signal } = stop;
    const source = hub === undefined ? "its listed files" : `${hub.repo}@${hub.revision}`;
    log.info("a model is being fetched", { model: name, from: source });
    for (let failures = 0; !signal.aborted; ) {
      try {
        await fetchSemaphore.run(() => fetchOne(entry), { signal });
        return notifyListeners();
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        const waitMs = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS);
        const isKnown = error instanceof ModelError;
        const message = isKnown
          ? error.message
          : "it could not be downloaded because of an internal error, which is in the log";
        metrics?.failures.with(name, isKnown ? error.fault : "internal").inc();
        entry.status = { ...entry.status, state: "failed", message };
        log.error("a model could not be downloaded; the download will be retried", {
          model: name,
          ...(isKnown ? { reason: message } : { error }),
          retry_in_seconds: waitMs / 1_000,
        });
        notifyListeners();
        await waiting.wait(waitMs, signal).catch(() => undefined);
        entry.status = { ...entry.status, state: "fetching" };
      }
    }
  };

  return {
    async cachedViews(needs, signal) {
      const found = new Map<string, ModelView>();
      for (const need of needs) {
        signal.throwIfAborted();
        const view = await findCachedView(store, need);
        if (view === undefined) sizes.delete(keyOf(need));
        else {
          found.set(need.model.name, view);
          sizes.set(keyOf(need), view.size);
        }
      }
      return found;
    },
    setWanted(needs) {
      const previous = wanted;
      wanted = new Map();
      for (const need of needs) {
        const key = keyOf(need);
        const { name } = need.model;
        const size = sizes.get(key);
        const previousEntry = previous.get(key);
        previous.delete(key);
        const isFetching = previousEntry !== undefined && previousEntry.status.state !== "ready";
        if (size !== undefined) {
          previousEntry?.stop.abort();
          wanted.set(key, { need, stop: new AbortController(), status: readyStatus(name, size) });
        } else if (isFetching) wanted.set(key, previousEntry);
        else {
          const status = { name, state: "fetching", done: 0, total: undefined, message: undefined } as const;
          const entry: WantedModel = { need, stop: new AbortController(), status };
          wanted.set(key, entry);
          void fetchUntilCached(entry);
        }
      }
      for (const { stop } of previous.values()) stop.abort();
      for (const key of sizes.keys()) if (!wanted.has(key)) sizes.delete(key);
    },
    wanted: () => [...wanted.values()].map(({ need }) => need),
    status: () => [...wanted.values()].map(({ status }) => status),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      for (const { stop } of wanted.values()) stop.abort();
      listeners.clear();
    },
  };
}

const readyStatus = (name: string, size: number): ModelStatus => ({
  name,
  state: "ready",
  done: size,
  total: size,
  message: undefined,
});

/**
 * Looks a model up in the cache. Returns `undefined` if the cache cannot be read; fetching the model then reports the
 * reason.
 */
async function findCachedView(store: ModelStore, { model, parts }: ModelNeed): Promise<ModelView | undefined> {
  try {
    const manifest = await store.known(model, parts);
    return manifest && (await store.cached(manifest, { remembers: true }));
  } catch (error) {
    if (error instanceof ModelError) return undefined;
    throw error;
  }
}

function createProgressLogger({ log, monotonic }: SupplyOptions, model: string): (progress: Progress) => void {
  let lastLogAt = monotonic();
  let lastTenths = 0;
  return ({ done, total }) => {
    const now = monotonic();
    const tenths = total === 0 ? 0 : Math.floor((10 * done) / total);
    const isDue = now - lastLogAt >= LOG_INTERVAL_MS || (tenths > lastTenths && now - lastLogAt >= MIN_LOG_INTERVAL_MS);
    if (!isDue) return;
    lastLogAt = now;
    lastTenths = tenths;
    log.info("a model is being fetched", { model, bytes: done, of: total, percent: Math.floor((100 * done) / total) });
  };
}

function metricsOf(instruments: Instruments, wanted: () => readonly WantedModel[]) {
  instruments.observedGauge(
    "gateway_models_missing",
    "Models that the newest configuration needs and that are not in the cache yet.",
    () => wanted().filter(({ status }) => status.state !== "ready").length,
  );
  return {
    bytes: instruments.counter("gateway_model_fetched_bytes_total", "Downloaded bytes of models.", ["model"]),
    failures: instruments.counter("gateway_model_fetch_failures_total", "Failed downloads of models.", [
      "model",
      "fault",
    ]),
  };
}

/** Describes what is being fetched, such as `names (120 of 431 MB)`; `undefined` if nothing is missing. */
export function missingModelsText(status: readonly ModelStatus[]): string | undefined {
  const notices = status.flatMap(({ name, state, done, total, message }) => {
    if (state === "ready") return [];
    if (state === "failed") return [`${name} (${message})`];
    return [total === undefined ? name : `${name} (${megabytes(done)} of ${megabytes(total)} MB)`];
  });
  return notices.length === 0 ? undefined : notices.join(", ");
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);
