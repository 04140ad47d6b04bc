/** Offline recovery of a cluster that lost its majority. */

export { inspectStorage } from "./inspect-directory.ts";
export { RecoveryRefused, recoverMembership } from "./recover-membership.ts";
export { planRecovery } from "./recovery-plan.ts";
export type { StorageFacts } from "./storage-facts.ts";
