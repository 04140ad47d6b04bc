/** Operators that rewrite values, and functions that restore encrypted values. */
export { alphabetOf } from "./alphabets.ts";
export { createFpe } from "./fpe.ts";
export { type Feasibility, feasibilityOf } from "./fpe-feasibility.ts";
export { normalizeValue } from "./normalize-value.ts";
export { compileOperator, type Operator, type OperatorKeys, operatorKeys } from "./operators.ts";
export { formsIn, type Span } from "./replacement-forms.ts";
export { proofOf, type RestorableType, RestoreLimit, restore, restoredValues } from "./restore.ts";
