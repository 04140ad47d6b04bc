/**
 * Policy over annotations: findings in, a judgement and rewritten texts out. Pure and synchronous. It loads CEL, so modules
 * that are loaded at start must not import it; the types are those of `core/guardrails`.
 *
 * Once per snapshot: `compilePolicy(guardrails, facts)`; `of(profile)` for a population. Once per request: `judge(inspected,
 * {variables, rewriting})`; for a streamed answer: `open({variables, rewriting})`, and `inspection.judge` for each stretch. The
 * rewriting state of a request serves its answer too.
 *
 * - `operators/`: rewriting operators: mask, replace, hash and others
 */

export { compilePolicy } from "./compile-policy.ts";
export {
  alphabetOf,
  createFpe,
  type Fpe,
  feasibilityOf,
  norm,
  type OperatorKeys,
  operatorKeys,
  proofOf,
  type Restoration,
  type Restored,
  RestoreLimit,
  restore,
  restoredValues,
} from "./operators/index.ts";
