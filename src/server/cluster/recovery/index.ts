/** Offline recovery of a cluster that lost its majority. */

export { inspectStorage } from "./inspect-directory.ts";
export {
  type RecoveredMembership,
  type RecoveryOptions,
  RecoveryRefused,
  recoverMembership,
} from "./recover-membership.ts";
export { planRecovery, type RecoveryPlan } from "./recovery-plan.ts";
export type { StorageFacts } from "./storage-facts.ts";
