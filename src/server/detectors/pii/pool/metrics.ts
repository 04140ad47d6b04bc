/** Metrics of the scanning threads. Created once per process. */
import type { Instruments } from "../../../../base/index.ts";

export interface PoolMetrics {
  /** Records the time that a thread worked, in seconds. */
  readonly addWorkSeconds: (seconds: number) => void;
  /** Records that a thread was stopped because it did not answer, or that it ended unexpectedly. */
  readonly countEnded: (reason: "stopped" | "crashed") => void;
  readonly countRefused: () => void;
}

export interface PoolReadings {
  /** Returns the number of UTF-16 units that wait or are being scanned. */
  readonly queued: () => number;
  readonly threads: () => number;
}

export const NO_POOL_METRICS: PoolMetrics = { addWorkSeconds() {}, countEnded() {}, countRefused() {} };

export function createPoolMetrics(instruments: Instruments, readings: PoolReadings): PoolMetrics {
  instruments.observedGauge(
    "gateway_detector_pool_queue_units",
    "Text that detector threads are reading or that is waiting for them, in UTF-16 units.",
    readings.queued,
  );
  instruments.observedGauge(
    "gateway_detector_pool_threads",
    "Detector threads, which read long texts.",
    readings.threads,
  );
  const busy = instruments.counter("gateway_detector_pool_busy_seconds_total", "Busy time of the detector threads.");
  const restarts = instruments.counter(
    "gateway_detector_pool_restarts_total",
    "Detector threads that were replaced, because they did not answer in time (`stopped`) or `crashed`.",
    ["reason"],
  );
  const refused = instruments.counter(
    "gateway_detector_pool_overloaded_total",
    "Scans that were refused because too much text was waiting. The request gets status 503 `overloaded`.",
  );
  return {
    addWorkSeconds: (seconds) => busy.with().inc(seconds),
    countEnded: (reason) => restarts.with(reason).inc(),
    countRefused: () => refused.with().inc(),
  };
}
