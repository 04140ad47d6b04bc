/**
 * Records metrics of the process: build, event-loop lag, garbage collection, memory, CPU, file descriptors. On a node with
 * several processes, memory, CPU and collections are sums. Lag and descriptors, which have a limit per process, are those of the
 * process with the highest value.
 *
 * Names without the gateway's prefix are those that Prometheus client libraries share, so that common dashboards work. The
 * gateway's own instruments record them, because prom-client's default collectors keep observers that cannot be stopped and that
 * no other exporter knows.
 */

import { readdirSync } from "node:fs";
import { constants, monitorEventLoopDelay, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import type { Instruments } from "../../base/index.ts";

export interface BuildInfo {
  readonly version: string;
  readonly commit: string;
  /** Version of the Node.js that runs the process. */
  readonly node: string;
}

export interface ProcessMetrics {
  /** Updates the values that are read from the system. Must be called before the instruments are read. */
  sample(): void;
  close(): void;
}

/** Period of the timer that measures the lag, in milliseconds. The measured value includes it, so it is subtracted. */
const LAG_RESOLUTION_MS = 20;

/** Length of a window, in milliseconds. The lag of the last complete window is reported, at first that of the current one. */
const LAG_WINDOW_MS = 10_000;

const GC_BOUNDS_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1];

const GC_KINDS: ReadonlyMap<number, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, "minor"],
  [constants.NODE_PERFORMANCE_GC_MAJOR, "major"],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, "incremental"],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, "weakcb"],
]);

export function observeProcess(instruments: Instruments, build: BuildInfo): ProcessMetrics {
  instruments
    .gauge("gateway_build_info", "Always 1. The labels identify the running build.", ["version", "commit", "node"])
    .with(build.version, build.commit, build.node)
    .set(1);
  const startedAt = Date.now() / 1000 - process.uptime();
  instruments.observedGauge(
    "process_start_time_seconds",
    "Start time of the process, in seconds since 1970.",
    () => startedAt,
  );
  const lag = observeLag(instruments);
  const collections = observeCollections(instruments);
  const sampleCpu = observeCpu(instruments);
  const sampleMemory = observeMemory(instruments);
  observeFileDescriptors(instruments);
  return {
    sample() {
      lag.sample();
      sampleCpu();
      sampleMemory();
    },
    close() {
      lag.close();
      collections.close();
    },
  };
}

function observeLag(instruments: Instruments): ProcessMetrics {
  const seconds = instruments.gauge(
    "gateway_event_loop_lag_seconds",
    "Event loop delay over the last ten seconds.",
    ["percentile"],
    "farthest",
  );
  const quantiles = { p50: seconds.with("p50"), p99: seconds.with("p99"), max: seconds.with("max") };
  const delays = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  let isWindowFull = false;

  function publish(): void {
    quantiles.p50.set(lagSeconds(delays.percentile(50)));
    quantiles.p99.set(lagSeconds(delays.percentile(99)));
    quantiles.max.set(lagSeconds(delays.count === 0 ? 0 : delays.max));
  }

  delays.enable();
  const window = setInterval(() => {
    publish();
    isWindowFull = true;
    delays.reset();
  }, LAG_WINDOW_MS).unref();
  return {
    sample() {
      if (!isWindowFull) publish();
    },
    close() {
      clearInterval(window);
      delays.disable();
    },
  };
}

function lagSeconds(delayNanoseconds: number): number {
  return Math.max(0, delayNanoseconds / 1e9 - LAG_RESOLUTION_MS / 1e3);
}

function observeCollections(instruments: Instruments): { close(): void } {
  const seconds = instruments.histogram(
    "nodejs_gc_duration_seconds",
    "Pauses for garbage collection.",
    GC_BOUNDS_SECONDS,
    ["kind"],
  );
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { detail } = entry as PerformanceEntry & { readonly detail?: { readonly kind?: number } };
      seconds.with(GC_KINDS.get(detail?.kind ?? -1) ?? "other").observe(entry.duration / 1000);
    }
  });
  observer.observe({ entryTypes: ["gc"] });
  return { close: () => observer.disconnect() };
}

function observeCpu(instruments: Instruments): () => void {
  const user = instruments.counter("process_cpu_user_seconds_total", "CPU time in user mode.").with();
  const system = instruments.counter("process_cpu_system_seconds_total", "CPU time in the kernel.").with();
  const total = instruments.counter("process_cpu_seconds_total", "CPU time in user mode and in the kernel.").with();
  let last = { user: 0, system: 0 };
  return () => {
    const usage = process.cpuUsage(); // in microseconds since the start of the process
    user.inc((usage.user - last.user) / 1e6);
    system.inc((usage.system - last.system) / 1e6);
    total.inc((usage.user - last.user + usage.system - last.system) / 1e6);
    last = usage;
  };
}

function observeMemory(instruments: Instruments): () => void {
  const resident = instruments.gauge("process_resident_memory_bytes", "Resident memory.").with();
  const heapTotal = instruments.gauge("nodejs_heap_size_total_bytes", "Reserved JavaScript heap.").with();
  const heapUsed = instruments.gauge("nodejs_heap_size_used_bytes", "Used JavaScript heap.").with();
  const external = instruments
    .gauge("nodejs_external_memory_bytes", "Memory outside of the JavaScript heap, including buffers.")
    .with();
  return () => {
    const usage = getHeapStatistics();
    heapTotal.set(usage.total_heap_size);
    heapUsed.set(usage.used_heap_size);
    external.set(usage.external_memory);
    try {
      resident.set(process.memoryUsage.rss());
    } catch {
      // Without /proc, or without a free descriptor to read it, the last value is kept.
    }
  };
}

/** Observes file descriptors, on Linux only. Listing 10,000 descriptors takes a few milliseconds. */
function observeFileDescriptors(instruments: Instruments): void {
  if (process.platform !== "linux") return;
  const open = (): number => {
    try {
      return readdirSync("/proc/self/fd").length - 1; // the descriptor of this listing does not count
    } catch {
      return Number.NaN; // there is no /proc, or no free descriptor
    }
  };
  instruments.observedGauge("process_open_fds", "Open file descriptors.", open, "farthest");
}
