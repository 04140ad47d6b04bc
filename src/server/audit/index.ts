/**
 * Audit trail: writes and verifies a chain of signed records.
 *
 * - `verify/`: offline verification of a trail
 */

export { type AuditQueue, MAX_QUEUE_BYTES, openCredit, openQueue, RECORD_OVERHEAD_BYTES } from "./audit-queue.ts";
export { MAX_RECORD_BYTES } from "./audit-record.ts";
export { type AuthFailure, createFailureSampler, type FailureSampler } from "./failure-sampler.ts";
export { eventText } from "./fit-event.ts";
export { type OpenAuditOptions, openAudit } from "./open-audit.ts";
export * from "./types.ts";
export { parseChainKey, parseHeads } from "./verify/heads.ts";
export type { ChainReport, Finding, TrailInput, TrailReport, VerifyOptions, WitnessedHead } from "./verify/types.ts";
export { verifyTrail } from "./verify/verify-trail.ts";
