/** Metering of requests and sessions. */
export { createMeter, type MeterOptions } from "./meter.ts";
export { createUsageMetrics, type Doubt, type UsageMetrics } from "./metrics.ts";
export { beginUse, type RequestUse } from "./request-use.ts";
export { createSessionMeter, type SessionMeterOptions } from "./session-meter.ts";
export type { AnswerMeter, Meter, MeteredParts, SessionMeter, UsageAccount } from "./types.ts";
export type { UsageLedger } from "./usage-ledger.ts";
