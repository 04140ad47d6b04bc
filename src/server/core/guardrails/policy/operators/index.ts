/** Operators that rewrite values, and functions that restore encrypted values. */
export { ALPHABETS, alphabetOf } from "./alphabets.ts";
export { type Feasibility, feasibilityOf } from "./feasible.ts";
export { formsIn, type Span } from "./forms.ts";
export { createFpe, type Fpe } from "./fpe.ts";
export { normalizeValue } from "./norm.ts";
export { compileOperator, type Operator, type OperatorKeys, operatorKeys } from "./operators.ts";
export {
  proofOf,
  type RestorableType,
  type RestoreBudget,
  type RestoreContext,
  RestoreLimit,
  type RestoreResult,
  restore,
  restoredValues,
} from "./restore.ts";
