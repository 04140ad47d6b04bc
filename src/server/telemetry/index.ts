/** Exports the instruments of `base`: the metrics listener, and the bridge to prom-client. */

export { type Exposition, exposeInstruments } from "./exposition.ts";
export { type MetricsListener, type MetricsOptions, type Readiness, startMetrics } from "./metrics-listener.ts";
export { type BuildInfo, observeProcess, type ProcessMetrics } from "./process-metrics.ts";
