/** Operators that rewrite values, and functions that restore encrypted values. */
export { ALPHABETS, alphabetOf } from "./alphabets.ts";
export { createFpe, type Fpe } from "./fpe.ts";
export { type Feasibility, feasibilityOf } from "./fpe-feasibility.ts";
export { normalizeValue } from "./normalize-value.ts";
export { compileOperator, type Operator, type OperatorKeys, operatorKeys } from "./operators.ts";
export { formsIn, type Span } from "./replacement-forms.ts";
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
