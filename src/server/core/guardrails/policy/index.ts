/**
 * Policy over annotations: findings in, a judgement and rewritten texts out. Pure and synchronous. Loads CEL: nothing that
 * a start imports may import it; the types are those of `core/guardrails`.
 *
 * Once a snapshot, `compilePolicy(guardrails, facts)`; `of(profile)` for a population. Once a request,
 * `judge(inspected, {variables, rewriting})`; of an answer that streams, `open({variables, rewriting})`, and
 * `inspection.judge` for each stretch. The rewriting state of a request serves its answer too.
 */

export { compilePolicy } from "./compile.ts";
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
  turnedIn,
} from "./operators/index.ts";
