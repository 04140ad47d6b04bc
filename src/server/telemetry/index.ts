/**
 * Exports the instruments of `base`: the metrics listener, the bridge to prom-client, and OTLP with traces and logs.
 *
 * - `otlp/`: OTLP export of metrics, traces and logs
 */

export { exposeInstruments, prometheusName } from "./exposition.ts";
export { type MetricsListener, type MetricsOptions, type Readiness, startMetrics } from "./metrics-listener.ts";
export { type Otlp, openOtlp } from "./otlp/index.ts";
export { type BuildInfo, observeProcess, type ProcessMetrics } from "./process-metrics.ts";
