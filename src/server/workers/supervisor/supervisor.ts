/** Keeps the configured number of data plane processes running. Source: hot-path reference, section 3. */

import { setTimeout as pause } from "node:timers/promises";
import { anySignal } from "../../../base/index.ts";
import { isProcessorScarce } from "./processor-scarcity.ts";
import { startWorker } from "./start-worker.ts";
import type { Supervisor, SupervisorOptions, Worker, WorkersStatus } from "./types.ts";

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 30_000;
/**
 * Time after which a worker no longer counts as failed at its start, in milliseconds; also the maximum delay of a replacement.
 */
const STABLE_MS = 1_000;
/** Time during which an end counts as recent, in milliseconds. The Prometheus alert `GatewayWorkersEnd` uses the same window. */
const RECENT_MS = 15 * 60_000;
const NONE_SERVES = "workers";

/** Explains an end by SIGKILL, about which the process itself cannot log anything. */
const KILL_HINT =
  "the system kills processes that exceed the memory limit: if `dmesg` says so, add memory, or lower GATEWAY_WORKERS or GATEWAY_MAX_BUFFERED_BYTES";

/** Maximum time to wait for the other workers after the first one serves, in milliseconds. No connection is accepted before. */
const OTHERS_WAIT_MS = 5_000;

/**
 * Starts the workers. Resolves when all serve, or `OTHERS_WAIT_MS` after the first; the others follow. If processor time is scarce,
 * they are loaded one after the other. Rejects if none could be started in two attempts each.
 */
export async function openSupervisor(options: SupervisorOptions): Promise<Supervisor> {
  const { count, prepare, onEnd, now, instruments, log, reasons } = options;
  const serving = new Map<number, Worker>();
  const running = new Set<Worker>();
  let onServing: () => void = () => undefined;
  const firstServes = new Promise<void>((resolve) => {
    onServing = resolve;
  });
  const timers = new Set<NodeJS.Timeout>();
  const pauses = new Map<number, number>();
  const stop = new AbortController();
  let restarted = 0;
  let lastEnd: WorkersStatus["lastEnd"];
  /** Times of the recent ends, in milliseconds since 1970. */
  let endTimes: readonly number[] = [];
  const recentEnds = (): readonly number[] => endTimes.filter((at) => now() - at < RECENT_MS);
  const restarts = instruments
    .counter("gateway_worker_restarts_total", "How often a worker process was replaced.")
    .with();
  instruments.observedGauge("gateway_workers", "Worker processes that are serving.", () => serving.size);

  const updateReadiness = (): void => {
    if (serving.size === 0) reasons.add(NONE_SERVES);
    else reasons.delete(NONE_SERVES);
  };

  const start = async (number: number): Promise<void> => {
    const worker = await startWorker({ ...options, number });
    running.add(worker);
    void worker.ended.then(() => running.delete(worker));
    const ending = new AbortController();
    void worker.ended.then(() => ending.abort(new Error(`worker ${number} ended while it started`)));
    try {
      await prepare(worker, anySignal([ending.signal, stop.signal]));
    } catch (error) {
      worker.kill(`it could not begin to serve: ${error instanceof Error ? error.message : String(error)}`);
      const by = await worker.ended;
      onEnd(worker);
      // If the worker ended unexpectedly, the error of `prepare` is only a consequence of that.
      throw ending.signal.aborted ? new Error(`worker ${number} ended while it started (${by})`) : error;
    }
    worker.markServing();
    serving.set(number, worker);
    onServing();
    updateReadiness();
    log.info("worker serves", { worker: number, pid: worker.pid });
    const since = performance.now();
    void worker.ended.then((by) => {
      serving.delete(number);
      updateReadiness();
      onEnd(worker);
      if (performance.now() - since >= STABLE_MS) pauses.delete(number);
      if (stop.signal.aborted) return;
      lastEnd = { at: now(), by };
      endTimes = [...recentEnds(), lastEnd.at];
      log.error("a worker ended; another one replaces it", {
        worker: number,
        pid: worker.pid,
        by,
        ...(by === "SIGKILL" && { hint: KILL_HINT }),
      });
      replace(number);
    });
  };

  const replace = (number: number): void => {
    if (stop.signal.aborted) return;
    // A failed start counts as a restart too, so that a worker that never serves again does not look healthy.
    restarts.inc();
    restarted += 1;
    const pause = pauses.get(number) ?? FIRST_PAUSE_MS;
    pauses.set(number, Math.min(2 * pause, MAX_PAUSE_MS));
    const timer = setTimeout(() => {
      timers.delete(timer);
      start(number).catch((error: unknown) => {
        if (stop.signal.aborted) return;
        log.error("a worker could not be replaced; this will be retried", { worker: number, error });
        replace(number);
      });
    }, pause);
    timers.add(timer);
  };

  const startWithRetry = async (number: number): Promise<void> => {
    try {
      await start(number);
    } catch (error) {
      if (stop.signal.aborted) throw error;
      log.error("a worker could not be started; one more try follows", { worker: number, error });
      await start(number);
    }
  };

  const stopReplacing = (): void => {
    stop.abort(new Error("the gateway stops"));
    for (const timer of timers) clearTimeout(timer);
  };
  const close = async (): Promise<void> => {
    stopReplacing();
    const remaining = [...running];
    for (const worker of remaining) worker.kill("the gateway stops");
    await Promise.all(remaining.map(({ ended }) => ended));
  };

  /** Starts all workers. Rejects if none could be started; if only some fail, they are tried again. */
  const startAll = async (): Promise<void> => {
    const numbers = Array.from({ length: count }, (_, at) => at + 1);
    const failures = new Map<number, unknown>();
    const attempt = (number: number): Promise<void> =>
      startWithRetry(number).catch((error: unknown) => {
        failures.set(number, error);
      });
    if (count > 1 && (await isProcessorScarce())) {
      log.info("processor time is scarce, so workers are started one after the other", { workers: count });
      for (const number of numbers) await attempt(number);
    } else await Promise.all(numbers.map(attempt));
    if (stop.signal.aborted) return;
    const [first] = failures.values();
    if (failures.size === count) throw first;
    for (const [number, error] of failures) {
      log.error("a worker could not be started; this will be retried", { worker: number, error });
      replace(number);
    }
  };

  reasons.add(NONE_SERVES);
  const all = startAll();
  const enoughServe = firstServes.then(() => pause(OTHERS_WAIT_MS, undefined, { ref: false }));
  try {
    await Promise.race([all, enoughServe]);
  } catch (error) {
    await close();
    reasons.delete(NONE_SERVES);
    throw error;
  }
  all.catch(() => undefined);
  return {
    status: () => ({
      wanted: count,
      serving: serving.size,
      restarts: restarted,
      recentEnds: recentEnds().length,
      lastEnd,
    }),
    serving: () => [...serving.values()].sort((a, b) => a.number - b.number),
    stopReplacing,
    close,
  };
}
