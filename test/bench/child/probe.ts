/**
 * Loaded into the gateway by benches (`--require`, with `--expose-gc`): answers over the channel with what is alive
 * after a full collection, or with how busy the main thread has been since the last such request. Only this way can
 * timers be counted and the minimum of the heap be separated from its variation. The channel does not keep the gateway
 * alive, and workers, which load this too, stay silent.
 */

import { type IntervalHistogram, monitorEventLoopDelay, performance } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";

export interface Alive {
  readonly heapBytes: number;
  /** Memory of buffers and other objects outside the heap. */
  readonly externalBytes: number;
  /** Number of resources that keep the event loop alive, by type: Timeout, TCPSocketWrap and so on. */
  readonly resources: Readonly<Record<string, number>>;
}

export interface MainThread {
  /** Share of the time in which it was busy. */
  readonly busyShare: number;
  readonly delayP99Ms: number;
  readonly longestDelayMs: number;
}

/** `alive` by default. The first request about the main thread starts the measurement, and its answer is void. */
export interface ProbeQuestion {
  readonly kind?: "main-thread";
}

const DELAY_RESOLUTION_MS = 1;
let delays: IntervalHistogram | undefined;
let utilization = performance.eventLoopUtilization();

function readMainThread(): MainThread {
  const now = performance.eventLoopUtilization();
  const { utilization: busyShare } = performance.eventLoopUtilization(now, utilization);
  utilization = now;
  if (delays === undefined) {
    delays = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
    delays.enable();
  }
  const delayOf = (nanos: number): number => Math.max(0, nanos / 1e6 - DELAY_RESOLUTION_MS);
  const read = {
    busyShare,
    delayP99Ms: delayOf(delays.percentile(99)),
    longestDelayMs: delays.count === 0 ? 0 : delayOf(delays.max),
  };
  delays.reset();
  return read;
}

if (isMainThread && process.send !== undefined) {
  process.on("message", ({ kind }: ProbeQuestion) => {
    if (kind === "main-thread") {
      process.send?.(readMainThread());
      return;
    }
    globalThis.gc?.();
    const resources: Record<string, number> = {};
    for (const type of process.getActiveResourcesInfo()) resources[type] = (resources[type] ?? 0) + 1;
    const { heapUsed, external } = process.memoryUsage();
    const alive: Alive = { heapBytes: heapUsed, externalBytes: external, resources };
    process.send?.(alive);
  });
  process.channel?.unref();
}
