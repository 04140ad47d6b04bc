/** Offline recovery of a cluster that lost its majority. */

export type { StorageFacts } from "./facts.ts";
export { inspectStorage } from "./inspect.ts";
export { planRecovery, type RecoveryPlan } from "./plan.ts";
export { type RecoveredMembership, type RecoveryOptions, RecoveryRefused, recoverMembership } from "./recover.ts";
