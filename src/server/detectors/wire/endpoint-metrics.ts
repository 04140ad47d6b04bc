/** Metrics of all servers that detectors call, in total. Created once per process. */
import type { Instruments } from "../../../base/index.ts";

export interface EndpointReadings {
  readonly inFlight: () => number;
  readonly waiting: () => number;
}

export interface EndpointMetrics {
  readonly countRetry: () => void;
  readonly countRefused: () => void;
}

export const NO_ENDPOINT_METRICS: EndpointMetrics = { countRetry() {}, countRefused() {} };

export function createEndpointMetrics(instruments: Instruments, readings: EndpointReadings): EndpointMetrics {
  instruments.observedGauge(
    "gateway_detector_calls_in_flight",
    "Calls in flight from detectors to their servers.",
    readings.inFlight,
  );
  instruments.observedGauge(
    "gateway_detector_calls_waiting",
    "Detector calls that are waiting because their server has its maximum of calls in flight.",
    readings.waiting,
  );
  const repeated = instruments.counter(
    "gateway_detector_calls_repeated_total",
    "Detector calls that were repeated because the connection ended before the first byte of an answer.",
  );
  const refused = instruments.counter(
    "gateway_detector_calls_overloaded_total",
    "Detector calls that were refused because too many were waiting. The request gets status 503 `overloaded`.",
  );
  return { countRetry: () => repeated.with().inc(), countRefused: () => refused.with().inc() };
}
