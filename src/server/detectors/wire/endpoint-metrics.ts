/** Metrics of all servers that detectors call, in total. Created once per process. */
import type { Instruments } from "../../../base/index.ts";

export interface EndpointReadings {
  readonly inFlight: () => number;
  readonly waiting: () => number;
}

export interface EndpointMetrics {
  readonly repeated: () => void;
  readonly refused: () => void;
}

export const NO_ENDPOINT_METRICS: EndpointMetrics = { repeated() {}, refused() {} };

export function createEndpointMetrics(instruments: Instruments, readings: EndpointReadings): EndpointMetrics {
  instruments.observedGauge(
    "gateway_detector_calls_in_flight",
    "Calls to servers that detectors ask.",
    readings.inFlight,
  );
  instruments.observedGauge(
    "gateway_detector_calls_waiting",
    "Calls that wait until such a server has answered others.",
    readings.waiting,
  );
  const repeated = instruments.counter(
    "gateway_detector_calls_repeated_total",
    "Calls made again because the connection ended before a byte of an answer.",
  );
  const refused = instruments.counter(
    "gateway_detector_calls_overloaded_total",
    "Calls refused because too many waited: such a request is answered 503 `overloaded`.",
  );
  return { repeated: () => repeated.with().inc(), refused: () => refused.with().inc() };
}
