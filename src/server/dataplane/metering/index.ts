/** Metering of requests and sessions. */
export { createMeter } from "./meter.ts";
export { createUsageMetrics, type Doubt, type UsageMetrics } from "./metrics.ts";
export { beginUse, type RequestUse } from "./request-use.ts";
export { createSessionMeter } from "./session-meter.ts";
export type { AnswerMeter, Meter, MeteredParts, SessionMeter } from "./types.ts";
export type { UsageLedger } from "./usage-ledger.ts";
