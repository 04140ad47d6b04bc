/** The compiled configuration: compiles documents into one frozen snapshot. */

export type { Guard, GuardResult } from "../core/guardrails/index.ts";
export type {
  AskSession,
  CallModel,
  ModelAnswer,
  ModelQuestion,
  SessionAnswer,
  SessionQuestion,
} from "../detectors/index.ts";
export type { CardKey } from "./card-keys.ts";
export { type Compiled, type CompileInput, compileDeployment } from "./compile-snapshot.ts";
export {
  type AssembledGuardrails,
  createGuard,
  type GuardrailEngine,
  type GuardrailSnapshot,
  type Rehearse,
  type Restorer,
} from "./compiled-guard.ts";
export type { FrontedSnapshot } from "./fronted-servers.ts";
export type { TrustedSettings } from "./governance.ts";
export type { DetectorInForce, GuardedProfile, RuleInForce } from "./in-force.ts";
export { loadGuardrailEngine, loadGuardrails, mayHoldGuardrails } from "./load-guardrails.ts";
export { loadRules, mayHoldRules, type Rules } from "./load-rules.ts";
export type { ReconciledProvider, ReconcileTargets } from "./reconcile-targets.ts";
export { findRemoved } from "./removed-findings.ts";
export type { Claim, Governance, Profile, Routed, Snapshot } from "./types.ts";
