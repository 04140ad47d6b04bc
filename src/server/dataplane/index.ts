export { type Admission, type AdmissionLimits, createAdmission, DEFAULT_ADMISSION } from "./admission.ts";
export { type Listener, listen } from "./listen.ts";
export { createMetrics, type DataplaneMetrics } from "./metrics.ts";
export type { Ports } from "./ports.ts";
export { createStatistics, type KeptFailure, type Measured, type Statistics } from "./statistics.ts";
export type { EndedRequest, RequestSpan, StartedRequest, Tracing } from "./tracing.ts";
