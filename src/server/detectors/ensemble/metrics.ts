/** Metrics of detectors. Labels are configured names and types of findings. */

import { type Instruments, LATENCY_BOUNDS_SECONDS } from "../../../base/index.ts";
import type { Finding } from "../../core/guardrails/index.ts";

export interface EnsembleMetrics {
  countFailure(detector: string): void;
  observeDuration(detector: string, seconds: number): void;
  countCacheHits(detector: string, texts: number): void;
  countCacheMisses(detector: string, texts: number): void;
  countEvicted(texts: number): void;
  /** Counts findings, including remembered ones, before thresholds and conflicts. */
  countFindings(detector: string, findings: readonly Pick<Finding, "label">[]): void;
  /** Counts a scan of `schedule: async` for which the queue was full. */
  countDropped(detector: string): void;
}

/** Maximum number of types of one detector; further ones, and invalid names, count as `other`. */
const MAX_TYPES = 64;
const TYPE = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

export function createEnsembleMetrics(instruments: Instruments): EnsembleMetrics {
  const errors = instruments.counter("gateway_detector_errors_total", "Failures and timeouts of detectors.", [
    "detector",
  ]);
  const seconds = instruments.histogram(
    "gateway_detector_seconds",
    "Time that a detector took for the texts of one request that were not in the cache.",
    LATENCY_BOUNDS_SECONDS,
    ["detector"],
  );
  const hits = instruments.counter(
    "gateway_detector_cache_hits_total",
    "Texts whose findings were in the detector cache.",
    ["detector"],
  );
  const misses = instruments.counter(
    "gateway_detector_cache_misses_total",
    "Texts that a detector read, because their findings were not in the cache.",
    ["detector"],
  );
  const evictions = instruments.counter(
    "gateway_detector_cache_evictions_total",
    "Texts that were evicted from the detector cache because of `guardrails.cache_entries`.",
  );
  const findings = instruments.counter(
    "gateway_detector_findings_total",
    "Findings of detectors, including cached ones, before thresholds and conflicts are applied.",
    ["detector", "type"],
  );
  const dropped = instruments.counter(
    "gateway_guardrail_async_dropped_total",
    "Scans with `schedule: async` that were dropped because `guardrails.async.max_in_flight` scans were running.",
    ["detector"],
  );
  const types = new Map<string, Set<string>>();
  /**
   * Returns the label for a metric. It is checked, since an external analyzer or model may report anything, even text
   * that it read.
   */
  function typeOf(detector: string, label: string): string {
    const known = types.get(detector) ?? new Set();
    types.set(detector, known);
    if (known.has(label)) return label;
    if (known.size >= MAX_TYPES || !TYPE.test(label)) return "other";
    known.add(label);
    return label;
  }
  return {
    countFailure: (detector) => errors.with(detector).inc(),
    observeDuration: (detector, time) => seconds.with(detector).observe(time),
    countCacheHits: (detector, texts) => hits.with(detector).inc(texts),
    countCacheMisses: (detector, texts) => misses.with(detector).inc(texts),
    countEvicted: (texts) => evictions.with().inc(texts),
    countFindings(detector, all) {
      for (const { label } of all) findings.with(detector, typeOf(detector, label)).inc();
    },
    countDropped: (detector) => dropped.with(detector).inc(),
  };
}

export const NO_METRICS: EnsembleMetrics = {
  countFailure() {},
  observeDuration() {},
  countCacheHits() {},
  countCacheMisses() {},
  countEvicted() {},
  countFindings() {},
  countDropped() {},
};
