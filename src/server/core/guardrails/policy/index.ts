/**
 * Policy over annotations: takes findings, and returns a judgement and rewritten texts. Pure and synchronous. It loads CEL, so
 * modules that are loaded at start must not import it; the types are in `core/guardrails`.
 *
 * Once per snapshot, call `compilePolicy(guardrails, facts)`, and `of(profile)` for a population. Once per request, call
 * `judge(inspected, {variables, rewriting})`. For a streamed answer, call `open({variables, rewriting})`, and `inspection.judge`
 * for each stretch. A request and its answer share the rewriting state.
 *
 * - `operators/`: rewriting operators: mask, replace, hash and others
 */

export { compilePolicy } from "./compile-policy.ts";
export {
  alphabetOf,
  createFpe,
  feasibilityOf,
  normalizeValue,
  operatorKeys,
  proofOf,
  type RestorableType,
  RestoreLimit,
  restore,
  restoredValues,
} from "./operators/index.ts";
