/** Operators that rewrite values, and functions that restore encrypted values. */
export { ALPHABETS, alphabetOf } from "./alphabets.ts";
export { type Feasibility, feasibilityOf } from "./feasible.ts";
export { formsIn, type Span } from "./forms.ts";
export { createFpe, type Fpe } from "./fpe.ts";
export { norm } from "./norm.ts";
export { compileOperator, type Operator, type OperatorKeys, operatorKeys } from "./operators.ts";
export {
  proofOf,
  type Restoration,
  type RestoreBudget,
  type Restored,
  RestoreLimit,
  type Restoring,
  restore,
  restoredValues,
} from "./restore.ts";
