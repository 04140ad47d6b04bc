/** What a request used. */
export { createMeter, type MeterOptions } from "./meter.ts";
export { createUsageMetrics, type Doubt, type UsageMetrics } from "./metrics.ts";
export { createSessionMeter, type SessionMeterOptions } from "./session-meter.ts";
export type { AnswerMeter, Counted, Meter, SessionMeter, Shown } from "./types.ts";
